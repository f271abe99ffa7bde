"""The records of the present branch of a log, without those that a rewind left."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from robota.log.chain.growth import LogPosition, records_since
from robota.log.record import Record, outlives_rewind
from robota.log.replay.branches import Jump, branch_spans, jumps_in
from robota.log.replay.landmarks import landmarks_of


def present_records(log: Path) -> Iterator[Record]:
    """The valid records of the present branch, without loading the whole log."""
    jumps = landmarks_of(log).jumps
    return _on_branch((grown.record for grown in records_since(log, LogPosition())), jumps)


def present_among(records: Sequence[Record]) -> Iterator[Record]:
    """The present records among the last ones of a log. A rewind is always after the records that it leaves."""
    return _on_branch(records, jumps_in(records))


def _on_branch(records: Iterable[Record], jumps: Sequence[Jump]) -> Iterator[Record]:
    spans = branch_spans(jumps)
    for record in records:
        if not jumps or outlives_rewind(record.kind) or any(record.seq in span for span in spans):
            yield record
