"""Changes one member of a JSON file and keeps every other byte of it: order, blanks, line endings."""

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from robota.config.settings.json_text import NotAnObject, read_object

_WHITE: Final = " \t\n\r"
_DECODER: Final = json.JSONDecoder()
DEFAULT_INDENT: Final = "  "


class _Member(msgspec.Struct, frozen=True):
    """The offsets of an object member: start of the name, start and end of the value."""

    name: str
    begin: int
    value: int
    end: int


def with_member(text: str, key: Sequence[str], value: Any) -> str:
    """The text with the member at `key` set; objects on the way to it are made. Raises `NotAnObject`."""
    read_object(text)
    offset = _skip(text, 0)
    if offset == len(text):
        return _written(_nested(key, value), DEFAULT_INDENT, "", "\n") + "\n"
    for depth, name in enumerate(key, start=1):
        if text[offset] != "{":
            raise NotAnObject(text.count("\n", 0, offset) + 1, f"{key[depth - 2]} must be an object")
        members = _members(text, offset)
        member = _last(members, name)
        if member is None:
            return _inserted(text, offset, members, depth, name, _nested(key[depth:], value))
        if depth == len(key):
            indent = _indent(text)
            return text[: member.value] + _written(value, indent, indent * depth, _newline(text)) + text[member.end :]
        offset = member.value
    return text


def without_member(text: str, key: Sequence[str]) -> str:
    """The text without the member at `key`, and as it is if there is none. Raises `NotAnObject`."""
    read_object(text)
    while (smaller := _without_last(text, key)) is not None:
        text = smaller
    return text


def _without_last(text: str, key: Sequence[str]) -> str | None:
    """The text without the last member at `key`; None if there is none."""
    offset = _skip(text, 0)
    for depth, name in enumerate(key, start=1):
        members = _members(text, offset) if text[offset : offset + 1] == "{" else []
        member = _last(members, name)
        if member is None:
            return None
        if depth == len(key):
            return _removed(text, offset, members, member)
        offset = member.value
    return None


def _inserted(text: str, offset: int, members: list[_Member], depth: int, name: str, value: Any) -> str:
    """The text with a member added at the end of the object that begins at `offset`."""
    newline, indent = _newline(text), _indent(text)
    begin = members[-1].end if members else offset + 1
    is_on_one_line = bool(members) and "\n" not in text[offset : members[0].begin]
    before = " " if is_on_one_line else newline + indent * depth
    after = "" if members else newline + indent * (depth - 1)
    end = begin if members else text.index("}", begin)
    written = _written(value, indent, indent * depth, newline)
    return f"{text[:begin]}{',' if members else ''}{before}{json.dumps(name)}: {written}{after}{text[end:]}"


def _removed(text: str, offset: int, members: list[_Member], member: _Member) -> str:
    number = members.index(member)
    if len(members) == 1:
        return text[: offset + 1] + text[text.index("}", member.end) :]
    if number == 0:
        return text[: member.begin] + text[members[1].begin :]
    return text[: members[number - 1].end] + text[member.end :]


def _members(text: str, offset: int) -> list[_Member]:
    """The members of the object that begins at `offset`. The text is known to be JSON."""
    members: list[_Member] = []
    offset = _skip(text, offset + 1)
    while text[offset] != "}":
        begin = offset
        name, offset = _DECODER.raw_decode(text, offset)
        value = _skip(text, _skip(text, offset) + 1)
        _, end = _DECODER.raw_decode(text, value)
        members.append(_Member(name, begin, value, end))
        offset = _skip(text, end)
        if text[offset] == ",":
            offset = _skip(text, offset + 1)
    return members


def _last(members: list[_Member], name: str) -> _Member | None:
    """The last member with this name, which is the effective one."""
    return next((member for member in reversed(members) if member.name == name), None)


def _nested(key: Sequence[str], value: Any) -> Any:
    for name in reversed(key):
        value = {name: value}
    return value


def _written(value: Any, indent: str, margin: str, newline: str) -> str:
    lines = json.dumps(value, indent=indent, ensure_ascii=False).split("\n")
    return (newline + margin).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent(text: str) -> str:
    """The indentation of the first member of the file."""
    line = next((line for line in text.splitlines()[1:] if line.strip()), "")
    blanks = line[: len(line) - len(line.lstrip(" \t"))]
    return blanks or DEFAULT_INDENT


def _skip(text: str, offset: int) -> int:
    while offset < len(text) and text[offset] in _WHITE:
        offset += 1
    return offset
