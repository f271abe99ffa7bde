"""The records of a log that still count: what was left by going back is passed over."""

from collections.abc import Iterator
from pathlib import Path

from robota.log.chain.growth import LogPosition, records_since
from robota.log.record import Record, outlives_rewind
from robota.log.replay.branches import Jump, branch_spans, jumps_in


def present_records(log: Path) -> Iterator[Record]:
    """The sound records of the present branch. The log is read twice, and never held in memory."""
    jumps: tuple[Jump, ...] = ()
    last = 0
    for grown in records_since(log, LogPosition()):
        last = grown.record.seq
        jumps += jumps_in([grown.record])
    spans = branch_spans(jumps, last)
    for grown in records_since(log, LogPosition()):
        record = grown.record
        if not jumps or outlives_rewind(record.kind) or any(record.seq in span for span in spans):
            yield record
