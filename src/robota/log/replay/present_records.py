"""The records of a log that still count: what was left by going back is passed over."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from robota.log.chain.growth import LogPosition, records_since
from robota.log.record import Record, outlives_rewind
from robota.log.replay.branches import Jump, branch_spans, jumps_in
from robota.log.replay.landmarks import landmarks_of


def present_records(log: Path) -> Iterator[Record]:
    """The sound records of the present branch. The log is never held in memory."""
    jumps = landmarks_of(log).jumps
    return _on_branch((grown.record for grown in records_since(log, LogPosition())), jumps)


def present_among(records: Sequence[Record]) -> Iterator[Record]:
    """Those of the last records of a log that are of the present branch: what leaves one stands behind it."""
    return _on_branch(records, jumps_in(records))


def _on_branch(records: Iterable[Record], jumps: Sequence[Jump]) -> Iterator[Record]:
    spans = branch_spans(jumps)
    for record in records:
        if not jumps or outlives_rewind(record.kind) or any(record.seq in span for span in spans):
            yield record
