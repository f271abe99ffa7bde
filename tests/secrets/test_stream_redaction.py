"""A secret that comes in pieces is covered as if it had come at once, and nothing of it is seen before."""

import json
from collections.abc import Iterator, Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.secrets.key_shapes import SHAPES
from robota.secrets.redaction import Redactor, StreamRedactor
from tests.secrets.test_redaction import KEYS

KNOWN = ("elephant-42-of-the-person", "elephant-42", "s3cr3t/with+signs$")
PRIVATE_KEY = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow+/=\nabcd\n-----END RSA PRIVATE KEY-----\n"
SECRETS = (*KEYS, *KNOWN, PRIVATE_KEY)
JOINTS = ("", " ", "\n", '"', "\\n", "\\", "é", "-", "_", ".", "x", "*", "\\u0041", "\ud83d")
BEGINNINGS = tuple(shape.begins.decode() for shape in SHAPES)

fragments = st.one_of(
    st.sampled_from(SECRETS),
    st.sampled_from(JOINTS),
    st.sampled_from(BEGINNINGS),
    st.sampled_from(SECRETS).flatmap(lambda secret: st.integers(0, len(secret)).map(lambda end: secret[:end])),
    st.sampled_from(SECRETS).flatmap(lambda secret: st.integers(0, len(secret)).map(lambda start: secret[start:])),
    st.text(max_size=8),
)
texts = st.lists(fragments, max_size=8).map("".join)


@st.composite
def pieces(draw: st.DrawFn) -> list[str]:
    text = draw(texts)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@given(pieces())
def test_pieces_are_covered_like_the_whole(split: list[str]) -> None:
    """However any text is split."""
    whole = b"".join(piece.encode("utf-8", "replace") for piece in split)
    shown = "".join(_shown([piece.encode("utf-8", "replace").decode() for piece in split]))
    assert shown.encode() == Redactor(KNOWN)(whole)


@pytest.mark.parametrize(
    "text", [f"ta{KEYS[0]}", f"x\\n{KEYS[5]}.", f"\\u0041{KEYS[2]}", f"{KNOWN[0]}{KEYS[2]}", PRIVATE_KEY]
)
def test_three_pieces_are_covered_like_the_whole_wherever_they_are_cut(text: str) -> None:
    """The tail of a word is no key, what follows an escape or another key is one."""
    whole = Redactor(KNOWN)(text.encode()).decode()
    for first, second in combinations(range(len(text) + 1), 2):
        assert "".join(_shown([text[:first], text[first:second], text[second:]])) == whole


def test_a_private_key_in_json_is_covered_wherever_an_escape_is_cut() -> None:
    text = json.dumps(PRIVATE_KEY)
    whole = Redactor()(text.encode()).decode()
    assert "MII" not in whole and "\\" not in whole.partition("-----END")[0]
    for cut in range(len(text)):
        assert "".join(_shown([text[:cut], text[cut:]])) == whole


@given(st.sampled_from(SECRETS), st.sampled_from(("", "see ", "a\n", '{"k": "')), st.data())
def test_nothing_of_a_secret_is_seen_before_it_is_known(secret: str, before: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(secret)), max_size=6)))
    split = [secret[start:end] for start, end in zip([0, *cuts], [*cuts, len(secret)], strict=True)]
    stream = Redactor(KNOWN).stream()
    shown = stream.feed_text(before)
    for piece in split:
        shown += stream.feed_text(piece)
        assert set(shown.removeprefix(before)) <= {"*"} or secret == PRIVATE_KEY
    assert "MIIE" not in shown


@pytest.mark.parametrize("text", ["Hello, ", "the tests pass", "task-12", "a + b = c\n", "12", "日本"])
def test_text_that_begins_no_secret_goes_through_at_once(text: str) -> None:
    stream = Redactor().stream()
    stream.feed_text("x ")
    assert stream.feed_text(text) == text
    assert stream.held == 0


def test_plain_text_is_not_copied() -> None:
    stream, text = Redactor().stream(), "the tests pass"
    data = text.encode()
    assert stream.feed(data) is data
    assert stream.feed_text(text) is text


@pytest.mark.parametrize("text", ["elephants", "elephant-4", "elephant-43 "])
def test_text_that_only_begins_like_a_known_secret_goes_through_once_that_is_clear(text: str) -> None:
    stream = Redactor(["elephant-42"]).stream()
    is_clear = not "elephant-42".startswith(text)
    assert stream.feed_text(text) == (text if is_clear else "")
    assert stream.finish() == (b"" if is_clear else text.encode())


def test_what_turns_out_to_be_no_secret_comes_with_what_decides_it() -> None:
    stream = Redactor().stream()
    assert list(_fed(stream, ["use ", "s", "k", "-", "learn", " now"])) == ["use ", "", "", "", "", "sk-learn now"]
    assert list(_fed(stream, [" -", "--", "--", "\n"])) == [" ", "", "", "-----\n"]


def test_a_long_key_is_covered_while_it_still_comes() -> None:
    """Nobody waits for the end of a file of base64."""
    stream = Redactor().stream()
    begin = stream.feed_text("ghp_" + "a1" * 15)
    assert begin == "*" * 34
    assert stream.feed_text("b2" * 1000) == "*" * 2000
    assert stream.feed_text("\nafter ") == "\nafter "


def test_no_more_is_held_back_than_a_key_can_be_long() -> None:
    stream = Redactor().stream()
    shown = "".join(_fed(stream, ["eyJ" + "a" * 500] * 100))
    assert len(shown) > 40_000


def _shown(split: Sequence[str]) -> Iterator[str]:
    stream = Redactor(KNOWN).stream()
    yield from _fed(stream, split)
    yield stream.finish().decode()
    assert stream.held == 0


def _fed(stream: StreamRedactor, split: Sequence[str]) -> Iterator[str]:
    for piece in split:
        yield stream.feed_text(piece)
