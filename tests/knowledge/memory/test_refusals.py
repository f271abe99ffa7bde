"""What is refused as a memory entry."""

import pytest

from robota.knowledge.memory.memories import why_refused
from robota.secrets.redaction import Redactor


@pytest.mark.parametrize(
    "text",
    (
        "my api_key=abc123def",
        "The password is hunter2!",
        "use sk-abcdefghij1234567890XYZ for the tests",
        "my number is 123-45-6789",
        "pay with 4111 1111 1111 1111",
        "비밀번호는 hunter2",
        "the value is topsecretvalue9",
    ),
)
def test_secrets_are_refused(text: str) -> None:
    assert why_refused(text, Redactor(("topsecretvalue9",))) is not None


@pytest.mark.parametrize(
    "text",
    (
        "Tokens are counted by the provider",
        "The token is read from the environment.",
        "Ask before you change the password form: its tests are slow",
        "The API key comes from $MY_KEY",
        "Release 2026-11-16 was the last",
    ),
)
def test_mentioning_secrets_without_values_is_allowed(text: str) -> None:
    assert why_refused(text, Redactor()) is None
