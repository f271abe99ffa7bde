"""Secrets that are known by what stands before them."""

import pytest

from robota.secrets.stated_secrets import stated_secrets


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD=hunterhunter",
        "export API_TOKEN='s3cret'",
        'db:\n  password: "correct-horse"',
        "aws_secret: abc123def",
        '{\\"apiKey\\": \\"abcdefgh\\"}',
        "Authorization: Bearer Zm9vYmFy99",
        "curl -u me:pw4everyone https://x.example",
        "curl --user 'me:pw4everyone' https://x.example",
        "deploy --password pw4everyone --force",
        "deploy --api-key=pw4everyone",
        "https://me:pw4everyone@git.example/x.git",
        "https://x0auth9token@git.example/x.git",
        "machine h login me password pw4everyone",
        "https://hooks.slack.com/services/T0/B0/x1y2z3",
        "client.connect(password='pw4everyone', port=1)",
        "password: abcd12",
        "password: correct-horse-ba",
        "API_TOKEN=12345678",
    ],
)
def test_what_is_said_to_be_secret_is_found(text: str) -> None:
    (secret,) = set(stated_secrets(text))
    assert secret in text and len(secret) >= 6


@pytest.mark.parametrize(
    "text",
    [
        "def login(password: str, token: Token) -> None:",
        "token = self.session.access_token_1",
        "api_key=os.environ['KEY']",
        "password = get_password_from_keyring2(name)",
        "API_KEY=$ENV_KEY_2",
        "SSH_KEY=/home/me/.ssh/id_ed25519",
        "ssh://git@git.example/x.git",
        "max_tokens: 4096000",
        "SECRET=****************",
        "the password is in the safe",
        "Basic programming",
        "timeout=300000ms port=5432a",
        "password: 20261117",
        "password: abc12",
        "password: correct-horse-b",
        "API_TOKEN=abc12",
        "API_TOKEN=1234567",
        "API_TOKEN=letters",
        "PWD=projects-of-mine-1",
    ],
)
def test_programs_and_prose_are_left_alone(text: str) -> None:
    assert list(stated_secrets(text)) == []


def test_names_in_json_count() -> None:
    found = stated_secrets({"command": "x", "env": [{"DB_PASSWORD": "pw4you"}, {"note": "TOKEN=abc123def"}]})
    assert sorted(found) == ["abc123def", "pw4you"]


def test_only_texts_in_json_are_secrets() -> None:
    assert list(stated_secrets({"password": 12345678, "token": None, "key": ["pw4you", True], "n": 1.5})) == []


def test_json_may_be_nested_ever_so_deep() -> None:
    found: object = {"DB_PASSWORD": "pw4you"}
    for _ in range(100):
        found = [found]
    assert list(stated_secrets(found)) == ["pw4you"]
    for _ in range(100_000):
        found = {"inner": [found]}
    assert list(stated_secrets(found)) == []


def test_a_long_line_without_any_takes_no_time_to_speak_of() -> None:
    assert list(stated_secrets("a" * 1_000_000 + " " + "key" * 300_000 + " x" * 300_000)) == []
