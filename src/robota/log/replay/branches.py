"""Which records of a log still apply after rewinds and undone reductions.

The log is append-only, so a rewind is also a record, and what follows it is another branch. Nothing is lost: an
abandoned branch can be shown, and continued by rewinding to its last record. In the same way a condensation, a
truncation or a cut is undone by a later record.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.growth import LogPosition, records_of, records_since
from robota.log.kinds.conversation import CondenseRecord, CutRecord, RestoreRecord, TruncateRecord
from robota.log.kinds.rewinds import RewindRecord
from robota.log.record import Record, outlives_rewind, payload_of
from robota.log.replay.context import reduction_id

LAST_OF_ALL: Final = 2**62
REDUCTIONS: Final = frozenset({"condense", "truncate", "cut"})


class Jump(msgspec.Struct, frozen=True, kw_only=True):
    """A rewind: record `seq` resets the conversation to its state after record `to`."""

    seq: int
    to: int


class RecordSpan(msgspec.Struct, frozen=True, kw_only=True):
    """The record numbers from `first` to `last`, inclusive."""

    first: int
    last: int

    def __contains__(self, seq: int) -> bool:
        return self.first <= seq <= self.last


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The rewinds of a log, the present branch if there are any, and the reductions that were undone on it.

    `undone` maps a task and the id of a reduction to the record that undid it.
    """

    jumps: tuple[Jump, ...] = ()
    branch: tuple[RecordSpan, ...] = ()
    undone: Mapping[tuple[str, str], int] = {}

    def applies(self, record: Record) -> bool:
        """Whether the record still has an effect."""
        return self.is_present(record) and not (
            self.undone and record.kind in REDUCTIONS and self._is_undone_reduction(record)
        )

    def is_present(self, record: Record) -> bool:
        """Whether the record is on the present branch, or independent of branches."""
        return self._is_on_branch(record.seq) or outlives_rewind(record.kind)

    def _is_on_branch(self, seq: int) -> bool:
        return not self.branch or any(seq in span for span in self.branch)

    def _is_undone_reduction(self, record: Record) -> bool:
        reduction = payload_of(record)
        if not isinstance(reduction, CondenseRecord | TruncateRecord | CutRecord):
            return False
        return record.seq < self.undone.get((reduction.task_id, reduction_id(reduction)), 0)


def timeline_of(records: Iterable[Record], earlier: tuple[Jump, ...] = ()) -> Timeline:
    """The timeline that these records form. `earlier` are the rewinds before them."""
    jumps: list[Jump] = list(earlier)
    restores: list[tuple[int, RestoreRecord]] = []
    for record in records:
        if (jump := jump_of(record)) is not None:
            jumps.append(jump)
        elif record.kind == "restore" and isinstance(payload := payload_of(record), RestoreRecord):
            restores.append((record.seq, payload))
    on_branch = Timeline(jumps=tuple(jumps), branch=branch_spans(jumps) if jumps else ())
    undone = {(each.task_id, each.id): seq for seq, each in restores if on_branch._is_on_branch(seq)}
    return msgspec.structs.replace(on_branch, undone=undone)


def timeline_in(log: Path, start: int = 0, earlier: tuple[Jump, ...] = ()) -> Timeline:
    """The timeline of a log after an offset, which must be the start of a line. Raises `LogUnreadable`, OSError.

    It must be known before the log can be read in a single pass.
    """
    return timeline_of(records_of(log, ("rewind", "restore"), start), earlier)


def present_records(log: Path) -> Iterator[Record]:
    """The valid records of the present branch, without loading the whole log."""
    timeline = timeline_in(log)
    records = (grown.record for grown in records_since(log, LogPosition()))
    return (record for record in records if timeline.is_present(record))


def present_among(records: Sequence[Record]) -> Iterator[Record]:
    """The present records among the last ones of a log. A rewind is always after the records that it leaves."""
    return filter(timeline_of(records).is_present, records)


def jump_of(record: Record) -> Jump | None:
    """The jump of a record; None unless it rewinds the conversation."""
    payload = payload_of(record) if record.kind == "rewind" else None
    if not isinstance(payload, RewindRecord) or payload.to is None or not 0 <= payload.to < record.seq:
        return None
    return Jump(seq=record.seq, to=payload.to)


def branch_spans(jumps: Sequence[Jump], last: int = LAST_OF_ALL) -> tuple[RecordSpan, ...]:
    """The record numbers on the branch that ends with record `last`, oldest span first.

    Without `last`, this is the present branch, including all future records.
    """
    spans: list[RecordSpan] = []
    for jump in reversed(jumps):
        if jump.seq <= last:
            spans.append(RecordSpan(first=jump.seq + 1, last=last))
            last = jump.to
    spans.append(RecordSpan(first=1, last=last))
    return tuple(span for span in reversed(spans) if span.first <= span.last)
