"""Finds the records that change the meaning of earlier ones: rewinds, and undone reductions.

They must be known before the log is read in a single pass. They are rare, so they are searched for in the raw bytes,
and only candidates are decoded.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.reader import LONGEST_LINE, next_line, open_log
from robota.log.kinds.conversation import RestoreRecord
from robota.log.record import PayloadError, Record, payload_of, unseal
from robota.log.replay.branches import Jump, jump_of

BLOCK_BYTES: Final = 256 * 1024


class Undoing(msgspec.Struct, frozen=True, kw_only=True):
    """Record `seq` undid the reductions with this id in the task."""

    seq: int
    task_id: str
    id: str


class Landmarks(msgspec.Struct, frozen=True, kw_only=True):
    """The landmarks of a log in order."""

    jumps: tuple[Jump, ...] = ()
    undoings: tuple[Undoing, ...] = ()


def landmarks_of(log: Path, start: int = 0) -> Landmarks:
    """The landmarks after this offset, which must be the start of a line. Raises `LogUnreadable`, OSError."""
    jumps: list[Jump] = []
    undoings: list[Undoing] = []
    for record in records_of(log, ("rewind", "restore"), start):
        if (jump := jump_of(record)) is not None:
            jumps.append(jump)
        elif (undoing := _undoing_of(record)) is not None:
            undoings.append(undoing)
    return Landmarks(jumps=tuple(jumps), undoings=tuple(undoings))


def records_of(log: Path, kinds: Sequence[str], start: int = 0) -> Iterator[Record]:
    """The valid records of these kinds; others are not decoded. Raises `LogUnreadable`, OSError."""
    wanted = [b'"kind":"%s"' % kind.encode() for kind in kinds]
    for line in _lines_with(log, start, wanted):
        record = unseal(line)
        if isinstance(record, Record) and record.kind in kinds:
            yield record


def _undoing_of(record: Record) -> Undoing | None:
    try:
        payload = payload_of(record)
    except PayloadError:
        return None
    if not isinstance(payload, RestoreRecord):
        return None
    return Undoing(seq=record.seq, task_id=payload.task_id, id=payload.id)


def _lines_with(log: Path, start: int, wanted: Sequence[bytes]) -> Iterator[bytes]:
    """The lines, without line ends, that contain one of these."""
    with open_log(log) as stream:
        stream.seek(start)
        while block := stream.read(BLOCK_BYTES):
            if not block.endswith(b"\n"):
                block += next_line(stream)[0]
            if any(each in block for each in wanted):
                for line in block.split(b"\n"):
                    if len(line) < LONGEST_LINE and any(each in line for each in wanted):
                        yield line
