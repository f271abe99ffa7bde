"""Finds the records at which a session was resumed after an interruption or a rewind."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from robota.log.kinds.conversation import MessageRecord, TurnRecord
from robota.log.kinds.session import EndRecord, SessionHeader, TaskRecord
from robota.log.record import Payload
from robota.log.replay.branches import Jump
from robota.protocol.asks.kinds import RESUMABLE_ASKS, RESUME_ASKS
from robota.protocol.conversation import TextBlock, UserTurn

# The second is what older versions wrote.
TAKEN_UP: Final = ("ago and continues now.", "is taken up again now.")


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """A resumption: the session continues with record number `first`, in the state after the records before it."""

    first: int
    by_another_process: bool = False


def breaks_in(payloads: Sequence[Payload | None], jumps: Sequence[Jump | None]) -> list[Break]:
    """All resumptions in order. `jumps` says for each record whether it is a rewind."""
    breaks: list[Break] = []
    offers: set[int] = set()
    is_left = False
    tasks: dict[str, bool] = {}
    for number, payload in enumerate(payloads):
        if jumps[number] is not None or (isinstance(payload, EndRecord) and _is_left(payload, tasks)):
            is_left = True
        elif isinstance(payload, MessageRecord) and payload.message.ask in RESUME_ASKS:
            is_new = payload.message.ts not in offers
            offers.add(payload.message.ts)
            if is_new and (is_left or payload.message.ask in RESUMABLE_ASKS):
                breaks.append(_break_at(number, payloads))
                is_left = False
        elif isinstance(payload, TaskRecord):
            tasks.setdefault(payload.task_id, payload.parent_task_id is None)
            if is_left:
                breaks.append(Break(first=number))
                is_left = False
    return breaks


def _is_left(end: EndRecord, tasks: Mapping[str, bool]) -> bool:
    """Whether a top-level task stopped in the middle without asking the user how to continue."""
    return end.outcome == "interrupted" and tasks.get(end.task_id, False)


def _break_at(offer: int, payloads: Sequence[Payload | None]) -> Break:
    """The resumption at this record.

    It is one by another process if that process began with it, or said so to the model.
    """
    begun = _last_start(payloads, offer)
    done = (isinstance(each, MessageRecord | TurnRecord | TaskRecord) for each in payloads[begun:offer])
    if begun > 0 and not any(done):
        return Break(first=begun, by_another_process=True)
    for number in range(offer, len(payloads)):
        payload = payloads[number]
        if isinstance(payload, TurnRecord) and isinstance(payload.turn, UserTurn):
            texts = [block.text for block in payload.turn.content if isinstance(block, TextBlock)]
            if not texts:
                continue
            start = _last_start(payloads, number)
            # A process that resumes its own task after a rewind sends the model the same text.
            if start > 0 and any(phrase in text for text in texts for phrase in TAKEN_UP):
                return Break(first=start, by_another_process=True)
            break
    return Break(first=offer)


def _last_start(payloads: Sequence[Payload | None], before: int) -> int:
    """The first record of the newest process."""
    return next(number for number in range(before, -1, -1) if isinstance(payloads[number], SessionHeader))
