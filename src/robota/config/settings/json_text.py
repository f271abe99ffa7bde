"""A JSON file as text: the object in it, and the line where a key stands."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

_WHITE: Final = " \t\n\r"
_SCALAR_ENDS: Final = frozenset(",]}" + _WHITE)
_DECODER: Final = json.JSONDecoder()
# A lone surrogate from an escape cannot be stored, shown or passed on.
HALF_CHARACTER: Final = r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"

Place = tuple[str | int, ...]


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
    twice: list[Duplicate] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            names = [name for name, _ in items]
            twice.extend(Duplicate(name) for name in found if names.count(name) > 1)
        return found

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
    return value, tuple(twice)


def _can_be_written(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def line_of(text: str, key: Sequence[str | int]) -> int:
    """The line of a key, or of the nearest thing around it that can be found."""
    places: dict[Place, int] = {}
    try:
        _scan(text, _skip(text, 0), (), places)
    except (RecursionError, IndexError, ValueError):
        return 1
    known = next((places[place] for place in _outwards(tuple(key)) if place in places), 0)
    return text.count("\n", 0, known) + 1


def _outwards(place: Place) -> list[Place]:
    return [place[:length] for length in range(len(place), 0, -1)]


def _scan(text: str, place: int, path: Place, places: dict[Place, int]) -> int:
    """Record the offsets of all keys and list items below `path`; returns the offset after the value."""
    opening = text[place]
    if opening == '"':
        return _string(text, place)[1]
    if opening not in "{[":
        while place < len(text) and text[place] not in _SCALAR_ENDS:
            place += 1
        return place
    place = _skip(text, place + 1)
    number = 0
    while text[place] not in "]}":
        begin, step = place, number
        inner: Place = (*path, step)
        if opening == "{":
            name, place = _string(text, place)
            inner = (*path, name)
            place = _skip(text, _skip(text, place) + 1)
        places[inner] = begin
        place = _skip(text, _scan(text, place, inner, places))
        if text[place] == ",":
            place = _skip(text, place + 1)
        number += 1
    return place + 1


def _string(text: str, place: int) -> tuple[str, int]:
    value, end = _DECODER.raw_decode(text, place)
    return str(value), end


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in _WHITE:
        place += 1
    return place
