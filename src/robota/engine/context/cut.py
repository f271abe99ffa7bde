"""Shortens a conversation without separating a call from its result."""

from collections.abc import Sequence
from typing import Final

import msgspec

from robota.engine.record.history import characters_of
from robota.protocol.conversation import ToolResultBlock, Turn, UserBlock, UserTurn

# The least length of an output that is cut.
SHORTEST: Final = 400
NOTE: Final = 80


def shorter(turns: Sequence[Turn], room: int) -> list[Turn]:
    """The history cut to `room` characters, if possible: first old outputs are cut, then old exchanges dropped.

    The first turn and the last exchange stay, and the result is a valid history.
    """
    kept = list(turns)
    excess = sum(characters_of(turn) for turn in kept) - room
    for index, turn in enumerate(kept):
        if excess <= 0:
            return kept
        if isinstance(turn, UserTurn):
            kept[index] = with_short_results(turn, 0)
            excess -= characters_of(turn) - characters_of(kept[index])
    sizes = [characters_of(turn) for turn in kept]
    end = 1
    while excess > 0 and end + 2 < len(kept):
        excess -= sizes[end] + sizes[end + 1]
        end += 2
    return [*kept[:1], *kept[end:]]


def with_short_results(turn: UserTurn, room: int) -> UserTurn:
    """The turn with its results cut so that together they have about `room` characters."""
    results = [block for block in turn.content if isinstance(block, ToolResultBlock)]
    if not results or characters_of(UserTurn(content=tuple(results))) <= room:
        return turn
    each = max(SHORTEST, room // len(results))
    return UserTurn(content=tuple(_short(block, each) for block in turn.content))


def middle_cut(text: str, limit: int) -> str:
    """The beginning and the end of a text that is too long, and a note of how much is missing."""
    if len(text) <= limit + NOTE:
        return text
    note = f"\n[… {len(text) - limit} characters omitted to make room …]\n"
    half = limit // 2
    return text[:half] + note + text[len(text) - (limit - half) :]


def _short(block: UserBlock, limit: int) -> UserBlock:
    if not isinstance(block, ToolResultBlock) or (len(block.content) <= limit + NOTE and not block.images):
        return block
    images = f"\n[{len(block.images)} images omitted to make room]" if block.images else ""
    return msgspec.structs.replace(block, content=middle_cut(block.content, limit) + images, images=())
