"""Which records belong to a conversation after rewinds.

The log is append-only, so a rewind is also a record, and what follows it is another branch. Nothing is lost: an
abandoned branch can be shown, and continued by rewinding to its last record.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from robota.log.kinds.rewinds import RewindRecord
from robota.log.record import PayloadError, Record, outlives_rewind, payload_of

LAST_OF_ALL: Final = 2**62


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


def jumps_in(records: Iterable[Record]) -> tuple[Jump, ...]:
    """The rewinds in order. Invalid ones are skipped."""
    found = (jump_of(record) for record in records if record.kind == "rewind")
    return tuple(jump for jump in found if jump is not None)


def jump_of(record: Record) -> Jump | None:
    """The jump of a record; None unless it rewinds the conversation."""
    if record.kind != "rewind":
        return None
    try:
        payload = payload_of(record)
    except PayloadError:
        return None
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


def branch_of(records: Sequence[Record], at: int | None = None) -> Sequence[Record]:
    """The records of the conversation after record `at`, or of the present one.

    Records that are independent of the conversation, such as the permission mode and the message queue, are always
    included, up to `at`. Without rewinds, all records are returned.
    """
    known = records if at is None else [record for record in records if record.seq <= at]
    jumps = jumps_in(known)
    if not jumps:
        return known
    spans = branch_spans(jumps, known[-1].seq)
    return [record for record in known if outlives_rewind(record.kind) or any(record.seq in span for span in spans)]
