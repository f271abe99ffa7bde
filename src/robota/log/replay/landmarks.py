"""What must be known of a log before it is read once through: where somebody went back, which reductions were undone.

Both change what records before them mean. They are few, so they are looked for in the bytes, and only what looks like
one is decoded.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.reader import LONGEST_LINE, next_line, open_log
from robota.log.kinds.conversation import RestoreRecord
from robota.log.record import PayloadError, Record, payload_of, unseal
from robota.log.replay.branches import Jump, jump_of

REWIND: Final = b'"kind":"rewind"'
RESTORE: Final = b'"kind":"restore"'
BLOCK_BYTES: Final = 256 * 1024


class Undoing(msgspec.Struct, frozen=True, kw_only=True):
    """With the record `seq` the reductions of this name no longer held in the task."""

    seq: int
    task_id: str
    id: str


class Landmarks(msgspec.Struct, frozen=True, kw_only=True):
    """Those of a log, in its order."""

    jumps: tuple[Jump, ...] = ()
    undoings: tuple[Undoing, ...] = ()


def landmarks_of(log: Path, start: int = 0) -> Landmarks:
    """The landmarks behind this offset, which must be the beginning of a line. Raises `LogUnreadable`, OSError."""
    jumps: list[Jump] = []
    undoings: list[Undoing] = []
    for line in _lines_with(log, start, (REWIND, RESTORE)):
        record = unseal(line)
        if not isinstance(record, Record):
            continue
        if (jump := jump_of(record)) is not None:
            jumps.append(jump)
        elif (undoing := _undoing_of(record)) is not None:
            undoings.append(undoing)
    return Landmarks(jumps=tuple(jumps), undoings=tuple(undoings))


def _undoing_of(record: Record) -> Undoing | None:
    if record.kind != "restore":
        return None
    try:
        payload = payload_of(record)
    except PayloadError:
        return None
    assert isinstance(payload, RestoreRecord)
    return Undoing(seq=record.seq, task_id=payload.task_id, id=payload.id)


def _lines_with(log: Path, start: int, wanted: tuple[bytes, ...]) -> Iterator[bytes]:
    """The lines, without their ends, that hold one of these."""
    with open_log(log) as stream:
        stream.seek(start)
        while block := stream.read(BLOCK_BYTES):
            if not block.endswith(b"\n"):
                block += next_line(stream)[0]
            if any(each in block for each in wanted):
                for line in block.split(b"\n"):
                    if len(line) < LONGEST_LINE and any(each in line for each in wanted):
                        yield line
