"""Keys in what is kept or shown are covered, and nothing else is."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.secrets.key_shapes import SHAPES, SUSPICION
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import FILE_CHUNK, Redactor, covered_values

# Put together here, so that no scanner takes this file for a leak.
KEYS = (
    "sk-" + "ant-api03-" + "Ab1" * 12,
    "sk-" + "proj-" + "x9Y" * 10,
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "11ABC_" * 6,
    "glpat-" + "x1Y2" * 5,
    "AKIA" + "ABCDEFGH12345678",
    "AIza" + "Sy" + "a" * 33,
    "xoxb-" + "123456789012-abc",
    "npm_" + "a1" * 18,
    "hf_" + "aB" * 17,
    "sk_live_" + "a1" * 12,
    "sk_test_" + "a1" * 12,
    "ghu_" + "a1B2" * 9,
    "ghr_" + "a1B2" * 9,
    "glptt-" + "x1Y2" * 10,
    "gldt-" + "x1Y2" * 5,
    "xapp-" + "1-A0B1C2D3-123456-abcdef",
    "eyJ" + "hbGciOiJIUzI1" + ".eyJ" + "zdWIiOiIxMjM0" + "." + "SflKxwRJSMeKKF2QT4",
)
ORDINARY = (
    "task-1763256378123 disk-usage-of-the-whole-machine-2024",
    "sk-learn is not a key, nor is sk-circle-fade-dot-animation",
    "the hash a94a8fe5ccb19ba61c4c0873d391e987982fbbd3 and 0d9b6a7e-3f0e-4c55-8d5e-0b1e8a1f2c3d",
    "https://example.com/eyJ npm_config AKIA xoxo pypi-server hf_model -----BEGIN CERTIFICATE-----",
)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "around", ["{}", "\\n{}", "\\u0041{}", "a\n{}\nb", 'x="{}"', "({})", "é{}é", "Bearer {}", "\t{}"]
)
def test_a_key_is_covered_wherever_it_stands(key: str, around: str) -> None:
    """In plain text, and in JSON, where the escaped line break before it ends with a letter."""
    text = around.format(key)
    covered = Redactor()(text.encode())
    assert key[4:].encode() not in covered and len(covered) == len(text.encode())
    line = json.dumps({"text": text}).encode()
    assert json.loads(Redactor()(line)) == {"text": covered.decode()}


ENDLESS = 1000
# What a kind begins with, the rest of its shortest key, and how many characters more still belong to a longer one.
SHORTEST_KEYS = (
    ("sk-", "a1" * 10, ENDLESS),
    *((begins, "a1" * 8, ENDLESS) for begins in ("sk_live_", "rk_live_", "sk_test_", "rk_test_")),
    *((begins, "a1" * 15, ENDLESS) for begins in ("ghp_", "gho_", "ghs_", "ghu_", "ghr_")),
    ("github_pat_", "a1" * 11, ENDLESS),
    *((begins, "a1" * 10, ENDLESS) for begins in ("glpat-", "glptt-", "gldt-")),
    ("AKIA", "A1" * 8, 0),
    ("ASIA", "A1" * 8, 0),
    ("AIza", "a1" * 17 + "b", 0),
    ("xoxb-", "a1" * 5, ENDLESS),
    ("xapp-", "a1" * 10, ENDLESS),
    ("npm_", "a1" * 18, 0),
    ("pypi-", "a1" * 25, ENDLESS),
    ("hf_", "a1" * 15, ENDLESS),
    ("gsk_", "a1" * 10, ENDLESS),
    ("xai-", "a1" * 10, ENDLESS),
    ("eyJ", "a1" * 5 + ".eyJ" + "b2" * 5 + "." + "c3" * 5, ENDLESS),
)


@pytest.mark.parametrize(("begins", "rest", "more"), SHORTEST_KEYS)
def test_a_key_is_covered_from_its_shortest_length_to_its_end(begins: str, rest: str, more: int) -> None:
    key = (begins + rest).encode()
    assert Redactor()(key) == b"*" * len(key)
    assert Redactor()(key[:-1]) == key[:-1]
    assert Redactor()(key + b"d" * more + b" d") == b"*" * (len(key) + more) + b" d"


@pytest.mark.parametrize(("begins", "rest", "more"), SHORTEST_KEYS)
def test_a_key_that_comes_letter_by_letter_is_never_seen(begins: str, rest: str, more: int) -> None:
    stream = Redactor().stream()
    shown = (
        "".join(map(stream.feed_text, begins + rest + "d" * more)) + stream.feed_text(" d") + stream.finish().decode()
    )
    assert shown == "*" * (len(begins + rest) + more) + " d"


def test_letters_after_a_key_of_one_length_are_no_part_of_it() -> None:
    assert Redactor()(f"{KEYS[8]}zz".encode()) == b"*" * len(KEYS[8]) + b"zz"
    longer = f"{KEYS[5]}9".encode()
    assert Redactor()(longer) == longer


@pytest.mark.parametrize("word", ["x", "9", "xy", "ne\\w"])
def test_the_tail_of_a_word_is_no_key_also_at_the_start_of_a_text(word: str) -> None:
    text = f"{word}{KEYS[0]}".encode()
    assert Redactor()(text) == text


def test_a_private_key_is_covered_in_json_and_in_text() -> None:
    block = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow+/=\nabcd\n-----END RSA PRIVATE KEY-----\n"
    assert b"MIIE" not in Redactor()(block.encode())
    line = Redactor()(json.dumps([block, "after"]).encode())
    assert b"MIIE" not in line and json.loads(line)[1] == "after"


AMAZON_SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"


@pytest.mark.parametrize(
    "text",
    [
        "aws_secret_access_key = {}\n",
        "AWS_SECRET_ACCESS_KEY={}",
        "export AWS_SECRET_ACCESS_KEY='{}'",
        '{{"SecretAccessKey": "{}", "x": 1}}',
        "secretAccessKey: {}",
    ],
)
def test_a_secret_key_of_amazon_is_covered_after_its_name(text: str) -> None:
    """Only its name distinguishes it from a hash, so the name is kept and the key is redacted, also in pieces."""
    whole, expected = text.format(AMAZON_SECRET).encode(), text.format("*" * 40).encode()
    assert Redactor()(whole) == expected
    line = json.dumps({"text": whole.decode()}).encode()
    assert json.loads(Redactor()(line)) == {"text": expected.decode()}
    for cut in range(len(whole)):
        stream = Redactor().stream()
        assert stream.feed(whole[:cut]) + stream.feed(whole[cut:]) + stream.finish() == expected


@pytest.mark.parametrize("text", ["secret_access_key is a name", "SECRET_ACCESS_KEY=", f"secret_access_key={'a' * 41}"])
def test_a_name_without_such_a_key_is_ordinary(text: str) -> None:
    assert Redactor()(text.encode()) == text.encode()


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_the_very_same(text: str) -> None:
    assert Redactor(["short", "password", "12345678", "with space 1"])(text.encode()) == text.encode()


def test_what_begins_like_a_key_is_always_looked_at_again() -> None:
    """The first look must not miss what the second would cover."""
    import re

    for shape in SHAPES:
        assert re.search(SUSPICION, shape.begins + b"a1" * 30)


@given(st.text(), st.sampled_from(KEYS), st.text())
def test_json_stays_json_and_keeps_its_length(before: str, key: str, after: str) -> None:
    line = json.dumps({"a": before + " " + key + " " + after, key: [1, True, None]}).encode()
    covered = Redactor(["my-secret-1"])(line)
    assert len(covered) == len(line)
    json.loads(covered)


def test_secrets_that_are_known_are_covered_whatever_they_look_like() -> None:
    environment = {
        "DB_PASSWORD": "hunter2-hunter2",
        "SERVICE_TOKEN": "blue-42-elephant",
        "TOKEN_FILE": "/run/secrets/token",
        "SECRET_NAME": "production1",
        "SSH_KEY": "/home/me/.ssh/id_ed25519",
        "OTHER_TOKEN": "$SERVICE_TOKEN_2",
        "HOME": "/home/me-and-you-1",
        "PWD": "C:\\work\\project-1",
    }
    assert secret_variables(environment) == ["hunter2-hunter2", "blue-42-elephant"]
    assert Redactor(secret_variables(environment))(b"x blue-42-elephant") == b"x " + b"*" * 16


def test_a_file_is_covered_in_place(tmp_path: Path) -> None:
    file = tmp_path / "output"
    file.write_text(f"before {KEYS[0]} after my-secret-1\n")
    Redactor(["my-secret-1"]).redact_file(file)
    assert file.read_text() == f"before {'*' * len(KEYS[0])} after {'*' * 11}\n"
    file.write_bytes(b"")
    Redactor().redact_file(file)


def test_a_long_file_is_covered_too_also_where_it_is_read_in_pieces(tmp_path: Path) -> None:
    file = tmp_path / "output"
    filler = b"line of an ordinary log\n" * (FILE_CHUNK // 24)
    secrets = [KEYS[0].encode(), b"my-secret-1", KEYS[2].encode()]
    straddling = b"".join(filler[: FILE_CHUNK - 5] + secret + b"\n" for secret in secrets)
    file.write_bytes(straddling + filler * 200)
    size = file.stat().st_size
    Redactor(["my-secret-1"]).redact_file(file)
    covered = file.read_bytes()
    assert len(covered) == size > 16 * 1024 * 1024
    assert covered.count(b"*") == sum(map(len, secrets))
    assert covered.endswith(filler * 200)


def test_the_last_secret_of_a_file_is_covered_also_where_a_piece_ends_with_it(tmp_path: Path) -> None:
    """It could have become the longer one, had the file gone on."""
    file = tmp_path / "output"
    file.write_bytes(b"x" * (FILE_CHUNK - 12) + b" elephant-42")
    Redactor(["elephant-42", "elephant-42-of-the-user"]).redact_file(file)
    assert file.read_bytes().endswith(b"x " + b"*" * 11)


def test_a_backslash_behind_a_key_at_the_end_stays() -> None:
    key = KEYS[2].encode()
    assert Redactor()(key + b"\\") == b"*" * len(key) + b"\\"


@pytest.mark.parametrize(
    "value",
    [
        *("a", "y", "ok", "none", "a1b2c3d", "1234567890123456", "password", "a-long-password"),
        *("with space 12345", "schlüssel-1234", "tab\tand-more-1", "bell\a-and-more-1", 'quote"-and-more-1'),
    ],
)
def test_a_value_that_looks_like_ordinary_text_is_covered_nowhere(value: str) -> None:
    text = f"a model may say {value} anyway: {value}s, un{value}".encode()
    assert Redactor([value])(text) == text
    added = Redactor()
    added.add(value)
    assert added(text) == text


@pytest.mark.parametrize("value", ["a1b2c3d4", "a-very-long-word"])
def test_the_shortest_value_that_is_unmistakable_is_covered(value: str) -> None:
    assert Redactor([value])(f"x{value}x".encode()) == b"x" + b"*" * len(value) + b"x"


def test_a_secret_that_is_learned_later_is_covered_from_then_on() -> None:
    redactor = Redactor(["first-secret-1"])
    text = b"first-secret-1 second-secret-2"
    assert redactor(text) == b"*" * 14 + b" second-secret-2"
    for _ in range(2):
        redactor.add("second-secret-2")
        assert redactor(text) == b"*" * 14 + b" " + b"*" * 15


def test_a_secret_within_another_leaves_nothing_of_the_longer_one() -> None:
    shorter, longer = "elephant-42", "elephant-42-of-the-user"
    for secrets in ([shorter, longer], [longer, shorter]):
        assert covered_values(f"key {longer}", secrets) == "key ***"
        assert Redactor(secrets)(longer.encode()) == b"*" * len(longer)


@pytest.mark.parametrize(
    ("secret", "message", "shown"),
    [
        ("a", "Invalid api key: a. Check a page", "Invalid api key: a. Check a page"),
        ("key", "Invalid api key: key", "Invalid api key: key"),
        ("none", "nonexistent model; key none", "nonexistent model; key ***"),
        ("hunter2", "https://me:hunter2@index/ refused; hunter22", "https://me:***@index/ refused; hunter22"),
        ("s3cret-of-mine", "Incorrect API key: s3cret-of-mine.", "Incorrect API key: ***."),
        ("s3cret-of-mine", "keys3cret-of-minekey", "key***key"),
    ],
)
def test_in_an_error_message_short_values_are_covered_only_as_words(secret: str, message: str, shown: str) -> None:
    assert covered_values(message, [secret]) == shown
