"""Extracts a part of a session: some of its turns, with what is needed to replay them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.reader import LOG_NAME
from robota.log.errors import SessionNotFound
from robota.log.kinds.calls import ToolEndRecord
from robota.log.kinds.conversation import TurnRecord
from robota.log.record import Record, payload_of
from robota.log.replay.rewind_points import read_rewind_history
from robota.log.transfer.fork import fork_of
from robota.protocol.conversation import ToolResultBlock, UserTurn

# The session header, and what requests contain in addition to the conversation.
FRAME: Final = frozenset({"session", "task", "content", "request"})
# Kinds of records that belong to the activity of a turn.
DONE: Final = frozenset({"turn", "result", "toolEnd", "condense", "truncate", "cut", "checkpoint"})


class PartWanted(msgspec.Struct, frozen=True, kw_only=True):
    """The turns from `first` to `last`, counted as `robota rewind list` does, and no further than a call."""

    first: int = 1
    last: int | None = None
    until_call: str | None = None

    @property
    def is_all(self) -> bool:
        return self == PartWanted()


def part_of(directory: Path, wanted: PartWanted) -> Sequence[Record]:
    """The records of a part, without earlier turns. Raises `LogError`."""
    part: list[Record] = []
    start = _start_of_turn(directory, wanted.first) if wanted.first > 1 else 0
    fork_of(directory, wanted.last).each(
        lambda record: part.append(record) if record.seq >= start or record.kind in FRAME else None
    )
    records = part if wanted.last is None else _without_next_prompt(part)
    return records if wanted.until_call is None else _until(records, wanted.until_call)


def _without_next_prompt(records: Sequence[Record]) -> Sequence[Record]:
    """The last activity may be followed by the start of the next turn, including its prompt, which is cut off."""
    end = max((number for number, record in enumerate(records) if record.kind in DONE), default=-1)
    return records[: end + 1]


def _start_of_turn(directory: Path, turn: int) -> int:
    points = {point.number: point for point in read_rewind_history(directory / LOG_NAME).points}
    if turn not in points or not points[turn].is_live:
        raise SessionNotFound(f"There is no turn {turn} in this session; it has {len(points)}. Nothing was written.")
    return points[turn].seq


def _until(records: Sequence[Record], call_id: str) -> Sequence[Record]:
    """The records up to the turn with the result of the call, or to the end of the log."""
    ended = None
    for number, record in enumerate(records):
        payload = payload_of(record)
        if isinstance(payload, ToolEndRecord) and payload.call_id == call_id:
            ended = number
        if isinstance(payload, TurnRecord) and isinstance(payload.turn, UserTurn) and ended is not None:
            results = [block for block in payload.turn.content if isinstance(block, ToolResultBlock)]
            # The results of concurrent calls may be in separate records.
            if not results or any(block.tool_use_id == call_id for block in results):
                return records[: number + 1]
    if ended is None:
        raise SessionNotFound(f"There is no call {call_id!r} in that part of the session. Nothing was written.")
    return records
