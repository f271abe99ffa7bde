"""Which stretch of a conversation can be taken out, so that what is left is valid. A pair goes whole or stays: R22."""

from collections.abc import Sequence

import msgspec

from robota.engine.context.cut import with_short_results
from robota.engine.record.history import characters_of
from robota.log.kinds.conversation import TruncateRecord
from robota.log.replay.context import Piece
from robota.protocol.conversation import AssistantTurn, Turn, UserTurn


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbouring turns and the numbers from which and up to which they go."""

    first: int
    end: int
    turns: tuple[Turn, ...]

    @property
    def characters(self) -> int:
        return sum(map(characters_of, self.turns))


def can_condense(pieces: Sequence[Piece]) -> bool:
    """Whether there is something between the beginning and the last exchange."""
    return len(_exchange_starts(pieces)) > 1


def all_but_last_exchange(pieces: Sequence[Piece], recorded: int, largest: int) -> Span:
    """What a summary can stand for. The last exchange is needed to go on; not if the reply alone is over `largest`."""
    last = _exchange_starts(pieces)[-1]
    is_small = characters_of(pieces[last].turn) <= largest
    return _span(pieces, recorded, 0, last if is_small else len(pieces))


def oldest_exchanges(pieces: Sequence[Piece], recorded: int, excess: int) -> Span | None:
    """As many exchanges from the oldest on as have `excess` characters, but never the last, nor the first words."""
    starts = _exchange_starts(pieces)
    begin = _first_after_head(pieces)
    for end in starts[1:]:
        span = _span(pieces, recorded, begin, end)
        if span.characters >= excess or end == starts[-1]:
            return span
    return None


def all_but_head(pieces: Sequence[Piece], recorded: int) -> Span | None:
    """Everything but the first words: when nothing less is enough."""
    begin = _first_after_head(pieces)
    return _span(pieces, recorded, begin, len(pieces)) if _exchange_starts(pieces) else None


def shortened_results(pieces: Sequence[Piece], room: int) -> list[tuple[Span, UserTurn]]:
    """The turns of the last exchange whose results are cut to have about `room` characters together."""
    starts = _exchange_starts(pieces)
    found: list[tuple[Span, UserTurn]] = []
    for piece in pieces[starts[-1] :] if starts else ():
        if isinstance(piece.turn, UserTurn):
            short = with_short_results(piece.turn, room)
            if characters_of(short) < characters_of(piece.turn):
                span = Span(first=piece.number, end=piece.number + 1, turns=(piece.turn,))
                found.append((span, short))
    return found


def _exchange_starts(pieces: Sequence[Piece]) -> list[int]:
    """Where the model speaks. Up to the next such place go the results of its calls, so these are the places to cut."""
    return [place for place, piece in enumerate(pieces) if isinstance(piece.turn, AssistantTurn)]


def _first_after_head(pieces: Sequence[Piece]) -> int:
    """The place after the first words; a note about turns dropped before is replaced by a newer one."""
    for place, piece in enumerate(pieces):
        if isinstance(piece.turn, AssistantTurn) or isinstance(piece.reduction, TruncateRecord):
            return place
    return len(pieces)


def _span(pieces: Sequence[Piece], recorded: int, begin: int, end: int) -> Span:
    return Span(
        first=pieces[begin].number,
        end=pieces[end].number if end < len(pieces) else recorded,
        turns=tuple(piece.turn for piece in pieces[begin:end]),
    )
