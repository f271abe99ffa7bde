"""The records of a log that still count: what was left by going back is passed over."""

from collections.abc import Iterator
from pathlib import Path

from robota.log.chain.growth import LogPosition, records_since
from robota.log.record import Record, outlives_rewind
from robota.log.replay.branches import branch_spans
from robota.log.replay.landmarks import landmarks_of


def present_records(log: Path) -> Iterator[Record]:
    """The sound records of the present branch. The log is never held in memory."""
    jumps = landmarks_of(log).jumps
    spans = branch_spans(jumps)
    for grown in records_since(log, LogPosition()):
        record = grown.record
        if not jumps or outlives_rewind(record.kind) or any(record.seq in span for span in spans):
            yield record
