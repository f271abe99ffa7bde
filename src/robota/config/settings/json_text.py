"""A JSON file as text: its object, and the line of a key."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

_WHITE: Final = " \t\n\r"
_SCALAR_ENDS: Final = frozenset(",]}" + _WHITE)
_DECODER: Final = json.JSONDecoder()
# A lone surrogate from an escape cannot be stored, shown or passed on.
HALF_CHARACTER: Final = r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"

JsonPath = tuple[str | int, ...]


class NotAnObject(Exception):
    """The text is not a JSON object; `line` is the line of the error."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line
        self.problem = problem


class Duplicate(msgspec.Struct, frozen=True):
    """A key that occurs twice in one object; only the last one counts."""

    key: str


def read_object(text: str) -> tuple[dict[str, Any], tuple[Duplicate, ...]]:
    """The object in a text; blank text is an empty one. Raises `NotAnObject`."""
    if not text.strip():
        return {}, ()
    duplicates: list[Duplicate] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(items)
        if len(members) < len(items):
            times = Counter(name for name, _ in items)
            duplicates.extend(Duplicate(name) for name in members if times[name] > 1)
        return members

    try:
        value = json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise NotAnObject(error.lineno, f"this is not JSON: {error.msg} (column {error.colno})") from error
    except (RecursionError, ValueError) as error:
        raise NotAnObject(1, f"this is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise NotAnObject(1, "a JSON object is required here")
    if (half := re.search(HALF_CHARACTER, text)) and not _can_be_written(value):
        raise NotAnObject(text.count("\n", 0, half.start()) + 1, f"{half[0]} is half of a character")
    return value, tuple(duplicates)


def _can_be_written(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def lines_of(text: str, keys: Iterable[Sequence[str | int]]) -> list[int]:
    """The line of each key, or of the innermost value around it that is in the text, which is read once."""
    offsets: dict[JsonPath, int] = {}
    try:
        _scan(text, _skip(text, 0), (), offsets)
    except (RecursionError, IndexError, ValueError):
        offsets = {}
    begins = (next((offsets[path] for path in _outwards(tuple(key)) if path in offsets), 0) for key in keys)
    return [text.count("\n", 0, begin) + 1 for begin in begins]


def _outwards(path: JsonPath) -> list[JsonPath]:
    return [path[:length] for length in range(len(path), 0, -1)]


def _scan(text: str, offset: int, path: JsonPath, offsets: dict[JsonPath, int]) -> int:
    """Record the offsets of all keys and list items below `path`; returns the offset after the value."""
    opening = text[offset]
    if opening == '"':
        return _string(text, offset)[1]
    if opening not in "{[":
        while offset < len(text) and text[offset] not in _SCALAR_ENDS:
            offset += 1
        return offset
    offset = _skip(text, offset + 1)
    index = 0
    while text[offset] not in "]}":
        begin = offset
        inner: JsonPath = (*path, index)
        if opening == "{":
            name, offset = _string(text, offset)
            inner = (*path, name)
            offset = _skip(text, _skip(text, offset) + 1)
        offsets[inner] = begin
        offset = _skip(text, _scan(text, offset, inner, offsets))
        if text[offset] == ",":
            offset = _skip(text, offset + 1)
        index += 1
    return offset + 1


def _string(text: str, offset: int) -> tuple[str, int]:
    value, end = _DECODER.raw_decode(text, offset)
    return str(value), end


def _skip(text: str, offset: int) -> int:
    while offset < len(text) and text[offset] in _WHITE:
        offset += 1
    return offset
