"""Bytes to text and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.workspace.problems import BinaryContent, Unencodable
from robota.workspace.text.encoding import TextForm, decode, encode

MARKS = [b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff"]


@given(st.sampled_from(MARKS), st.binary())
def test_any_bytes_come_back_unchanged_or_are_refused_as_binary(mark: bytes, body: bytes) -> None:
    data = mark + body
    try:
        text = decode(data)
    except BinaryContent:
        assert b"\0" in data
        return
    assert encode(text.content, text.form) == data


@given(st.text(), st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]))
def test_text_with_a_mark_is_read_in_its_encoding(content: str, encoding: str) -> None:
    if encoding == "utf-16" and content.startswith("\0"):
        return  # the same bytes as a UTF-32 mark: nobody can tell
    assert decode(content.encode(encoding)).content == content


@pytest.mark.parametrize(
    ("data", "newline"),
    [(b"a\r\nb\r\n", "\r\n"), (b"a\nb", "\n"), (b"a\rb\r", "\r"), (b"a\r\nb\n", None), (b"ab", None), (b"", None)],
)
def test_the_line_ending_is_the_one_all_lines_share(data: bytes, newline: str | None) -> None:
    assert decode(data).form.newline == newline


@pytest.mark.parametrize(
    ("data", "content", "encoding"),
    [
        (b"caf\xe9\n", "café\n", "cp1252"),
        (b"\x93quoted\x94 \x80", "“quoted” €", "cp1252"),
        (b"\x81\xe9", "\x81é", "latin-1"),
        ("äöü ".encode() + b"\xff", "äöü \udcff", "utf-8"),
    ],
)
def test_bytes_that_are_not_utf8_are_read_as_what_they_look_most_like(data: bytes, content: str, encoding: str) -> None:
    text = decode(data)
    assert (text.content, text.form.encoding) == (content, encoding)
    assert encode(text.content, text.form) == data


def test_a_character_the_encoding_lacks_is_refused_by_name() -> None:
    with pytest.raises(Unencodable, match=r"latin-1.*U\+20AC"):
        encode("5 €", TextForm(encoding="latin-1"))
    with pytest.raises(Unencodable, match=r"U\+D800"):
        encode("\ud800", TextForm())
