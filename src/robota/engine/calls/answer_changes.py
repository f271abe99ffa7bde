"""What a person wants changed before a call runs: other arguments, or only some of the hunks."""

import json
from typing import Any

import msgspec


class ChangedInput(msgspec.Struct, frozen=True):
    """Run it with these arguments instead."""

    input: dict[str, Any]


class ChosenHunks(msgspec.Struct, frozen=True):
    """Make only these changes of the diff, counted from 0."""

    hunks: tuple[int, ...]


def wish_in(text: str) -> ChangedInput | ChosenHunks | None:
    """The wish in the text of an `objectResponse`: `{"input": {…}}` or `{"hunks": [0, 2]}`."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    if isinstance(said.get("input"), dict):
        return ChangedInput(said["input"])
    hunks = said.get("hunks")
    if isinstance(hunks, list) and all(isinstance(number, int) for number in hunks):
        return ChosenHunks(tuple(hunks))
    return None
