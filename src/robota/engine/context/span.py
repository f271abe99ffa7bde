"""Which stretch of a conversation can be taken out, so that what is left is valid. A pair goes whole or stays: R22."""

from collections.abc import Sequence, Set

import msgspec

from robota.engine.context.cut import with_short_results
from robota.engine.record.history import characters_of
from robota.log.kinds.conversation import CutResult, TruncateRecord
from robota.log.replay.context import Piece
from robota.protocol.conversation import AssistantTurn, ToolResultBlock, Turn, UserTurn


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbouring turns and the numbers from which and up to which they go; `keep` are those among them that stay."""

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
    """The numbers of the turns that stay because of pins: a call stays with its results, and the other way round."""
    kept: set[int] = set()
    for place, piece in enumerate(pieces):
        if piece.number not in pins:
            continue
        kept.add(piece.number)
        if isinstance(piece.turn, AssistantTurn):
            kept.update(after.number for after in pieces[place + 1 : place + 2] if piece.turn.tool_uses)
        elif any(isinstance(block, ToolResultBlock) for block in piece.turn.content):
            kept.update(before.number for before in pieces[max(0, place - 1) : place])
    return frozenset(kept)


def all_but_last_exchange(pieces: Sequence[Piece], recorded: int, largest: int, kept: Set[int]) -> Span | None:
    """What a summary can stand for. The last exchange is needed to go on; not if the reply alone is over `largest`."""
    last = _exchange_starts(pieces)[-1]
    is_small = characters_of(pieces[last].turn) <= largest
    return _span(pieces, recorded, 0, last if is_small else len(pieces), kept)


def oldest_exchanges(pieces: Sequence[Piece], recorded: int, excess: int, kept: Set[int]) -> Span | None:
    """As many exchanges from the oldest on as have `excess` characters, but never the last, nor the first words."""
    starts = _exchange_starts(pieces)
    begin = _first_after_head(pieces)
    for end in starts[1:]:
        span = _span(pieces, recorded, begin, end, kept)
        if end == starts[-1] or (span is not None and span.characters >= excess):
            return span
    return None


def all_but_head(pieces: Sequence[Piece], recorded: int, kept: Set[int]) -> Span | None:
    """Everything but the first words: when nothing less is enough."""
    begin = _first_after_head(pieces)
    return _span(pieces, recorded, begin, len(pieces), kept) if _exchange_starts(pieces) else None


def shortened_results(pieces: Sequence[Piece], room: int, kept: Set[int]) -> tuple[CutResult, ...]:
    """The results of the last exchange, cut to have about `room` characters together."""
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
    """Where the model speaks. Up to the next such place go the results of its calls, so these are the places to cut."""
    return [place for place, piece in enumerate(pieces) if isinstance(piece.turn, AssistantTurn)]


def _first_after_head(pieces: Sequence[Piece]) -> int:
    """The place after the first words; a note about turns dropped before is replaced by a newer one."""
    for place, piece in enumerate(pieces):
        if isinstance(piece.turn, AssistantTurn) or isinstance(piece.reduction, TruncateRecord):
            return place
    return len(pieces)


def _span(pieces: Sequence[Piece], recorded: int, begin: int, end: int, kept: Set[int]) -> Span | None:
    """What can go between two places: from the first turn that does not stay to the last. None if all of it stays."""
    goes = [place for place in range(begin, end) if pieces[place].number not in kept or pieces[place].reduction]
    if not goes:
        return None
    inside = range(goes[0], goes[-1] + 1)
    return Span(
        first=pieces[goes[0]].number,
        end=pieces[inside.stop].number if inside.stop < len(pieces) else recorded,
        turns=tuple(pieces[place].turn for place in goes),
        keep=tuple(pieces[place].number for place in inside if place not in goes),
    )
