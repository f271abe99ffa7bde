"""Reads a call as Gemma writes it: `call:read_file{path:<|"|>a.txt<|"|>,lines:[1,2]}`."""

import re
from typing import Any, Final

import msgspec

# Gemma 4 and FunctionGemma each have a special quote mark; both also write JSON strings now and then.
QUOTES: Final = ('<|"|>', "<escape>")
HEAD: Final = re.compile(r"\s*call:\s*([\w.-]+)\s*(?=\{)")
SPACE: Final = re.compile(r"\s*")
KEY: Final = re.compile(r"[^\s:{}\[\],]+")
BARE: Final = re.compile(r"[^{}\[\],]*")
JSON_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
WORDS: Final = {"true": True, "false": False, "null": None}
MAX_DEPTH: Final = 32


class GemmaCall(msgspec.Struct, frozen=True):
    """A call as Gemma wrote it."""

    name: str
    arguments: dict[str, Any]


def parse_call(text: str) -> GemmaCall | None:
    """The call; None unless the text is exactly one complete call."""
    head = HEAD.match(text)
    if head is None:
        return None
    try:
        arguments, end = _object(text, head.end(), 0)
    except _NotAValueError:
        return None
    return GemmaCall(head[1], arguments) if not text[end:].strip() else None


class _NotAValueError(Exception):
    """The text is incomplete or malformed."""


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    if depth > MAX_DEPTH:
        raise _NotAValueError
    at = _past_space(text, at)
    if text.startswith("{", at):
        return _object(text, at, depth + 1)
    if text.startswith("[", at):
        return _array(text, at, depth + 1)
    quoted = _quoted(text, at)
    return quoted if quoted is not None else _bare(text, at)


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    members: dict[str, Any] = {}
    at = _past_space(text, at + 1)
    while not text.startswith("}", at):
        key, at = _key(text, at)
        members[key], at = _value(text, _past(":", text, at), depth)
        at = _after_item(text, at, "}")
    return members, at + 1


def _array(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    at = _past_space(text, at + 1)
    while not text.startswith("]", at):
        item, at = _value(text, at, depth)
        items.append(item)
        at = _after_item(text, at, "]")
    return items, at + 1


def _key(text: str, at: int) -> tuple[str, int]:
    quoted = _quoted(text, at)
    if quoted is not None:
        return quoted
    word = KEY.match(text, at)
    if word is None:
        raise _NotAValueError
    return word[0], word.end()


def _quoted(text: str, at: int) -> tuple[str, int] | None:
    for quote in QUOTES:
        if text.startswith(quote, at):
            start = at + len(quote)
            end = text.find(quote, start)
            if end < 0:
                raise _NotAValueError
            return text[start:end], end + len(quote)
    string = JSON_STRING.match(text, at)
    if string is None:
        return None
    try:
        return msgspec.json.decode(string[0], type=str, strict=True), string.end()
    except msgspec.DecodeError as error:
        raise _NotAValueError from error


def _bare(text: str, at: int) -> tuple[Any, int]:
    """A number, true, false or null; any other word is a string."""
    match = BARE.match(text, at)
    assert match is not None
    word = match[0].strip()
    if not word:
        raise _NotAValueError
    if word in WORDS:
        return WORDS[word], match.end()
    try:
        return msgspec.json.decode(word, type=int | float), match.end()
    except msgspec.DecodeError:
        return word, match.end()


def _after_item(text: str, at: int, closing: str) -> int:
    at = _past_space(text, at)
    if text.startswith(closing, at):
        return at
    return _past_space(text, _past(",", text, at))


def _past(mark: str, text: str, at: int) -> int:
    at = _past_space(text, at)
    if not text.startswith(mark, at):
        raise _NotAValueError
    return at + len(mark)


def _past_space(text: str, at: int) -> int:
    match = SPACE.match(text, at)
    assert match is not None
    return match.end()
