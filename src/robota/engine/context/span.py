"""Finds spans of turns that can be removed so that the rest is valid: a call goes or stays with its results."""

from collections.abc import Sequence, Set

import msgspec

from robota.engine.context.cut import with_short_results
from robota.engine.record.history import characters_of
from robota.log.kinds.conversation import CutResult
from robota.log.replay.context import Omission, Piece
from robota.protocol.conversation import AssistantTurn, ToolResultBlock, Turn, UserTurn


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbouring turns with their first number and the number after the last; `keep` are the ones that stay."""

    first: int
    end: int
    turns: tuple[Turn, ...]
    keep: tuple[int, ...] = ()

    @property
    def characters(self) -> int:
        return sum(map(characters_of, self.turns))


def can_condense(pieces: Sequence[Piece]) -> bool:
    """Whether there is something between the beginning and the last exchange."""
    return len(_exchange_starts(pieces)) > 1


def pinned_pairs(pieces: Sequence[Piece], pins: Set[int]) -> frozenset[int]:
    """The pinned turns, with the results of pinned calls and the calls of pinned results."""
    kept: set[int] = set()
    for index, piece in enumerate(pieces):
        if piece.number not in pins:
            continue
        kept.add(piece.number)
        if isinstance(piece.turn, AssistantTurn):
            kept.update(after.number for after in pieces[index + 1 : index + 2] if piece.turn.tool_uses)
        elif any(isinstance(block, ToolResultBlock) for block in piece.turn.content):
            kept.update(before.number for before in pieces[max(0, index - 1) : index])
    return frozenset(kept)


def all_but_last_exchange(pieces: Sequence[Piece], recorded: int, largest: int, kept: Set[int]) -> Span | None:
    """The span that a summary can replace. The last exchange stays, unless its reply alone is over `largest`."""
    last = _exchange_starts(pieces)[-1]
    is_small = characters_of(pieces[last].turn) <= largest
    return _span(pieces, recorded, 0, last if is_small else len(pieces), kept)


def oldest_exchanges(pieces: Sequence[Piece], recorded: int, excess: int, kept: Set[int]) -> Span | None:
    """The oldest exchanges with at least `excess` characters, without the last exchange and the first prompt."""
    starts = _exchange_starts(pieces)
    begin = _first_after_head(pieces)
    for end in starts[1:]:
        span = _span(pieces, recorded, begin, end, kept)
        if end == starts[-1] or (span is not None and span.characters >= excess):
            return span
    return None


def all_but_head(pieces: Sequence[Piece], recorded: int, kept: Set[int]) -> Span | None:
    """Everything after the first prompt, for when nothing less is enough."""
    begin = _first_after_head(pieces)
    return _span(pieces, recorded, begin, len(pieces), kept) if _exchange_starts(pieces) else None


def shortened_results(pieces: Sequence[Piece], room: int, kept: Set[int]) -> tuple[CutResult, ...]:
    """The results of the last exchange, cut to about `room` characters together."""
    starts = _exchange_starts(pieces)
    newest = [piece for piece in pieces[starts[-1] :] if piece.number not in kept] if starts else []
    return tuple(
        CutResult(turn=piece.number, call_id=new.tool_use_id, put=new.content)
        for piece in newest
        if isinstance(piece.turn, UserTurn)
        for old, new in zip(piece.turn.content, with_short_results(piece.turn, room).content, strict=True)
        if new is not old and isinstance(new, ToolResultBlock)
    )


def _exchange_starts(pieces: Sequence[Piece]) -> list[int]:
    """The indices of the replies, before which the conversation can be cut: results of calls stay with their calls."""
    return [index for index, piece in enumerate(pieces) if isinstance(piece.turn, AssistantTurn)]


def _first_after_head(pieces: Sequence[Piece]) -> int:
    """The index after the first prompt. An earlier truncation note is not kept: the new one replaces it."""
    for index, piece in enumerate(pieces):
        if isinstance(piece.turn, AssistantTurn) or isinstance(piece.reduction, Omission):
            return index
    return len(pieces)


def _span(pieces: Sequence[Piece], recorded: int, begin: int, end: int, kept: Set[int]) -> Span | None:
    """The removable span between two indices, without kept turns at its ends. None if all turns are kept."""
    goes = [index for index in range(begin, end) if pieces[index].number not in kept or pieces[index].reduction]
    if not goes:
        return None
    inside = range(goes[0], goes[-1] + 1)
    return Span(
        first=pieces[goes[0]].number,
        end=pieces[inside.stop].number if inside.stop < len(pieces) else recorded,
        turns=tuple(pieces[index].turn for index in goes),
        keep=tuple(pieces[index].number for index in inside if index not in goes),
    )
