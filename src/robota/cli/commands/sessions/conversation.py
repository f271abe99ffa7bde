"""The conversation of a session for those actions that print it: its head, and its entries on the present branch."""

from collections.abc import Iterator
from pathlib import Path

from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.chain.growth import LogPosition, records_since
from robota.log.chain.reader import LOG_NAME
from robota.log.record import Record, outlives_rewind
from robota.log.replay.branches import Jump, branch_spans, jumps_in
from robota.log.replay.transcript import transcript
from robota.protocol.transcript import Transcript, TranscriptHead


def head_of(session: CataloguedSession) -> TranscriptHead:
    """What stands above the conversation."""
    summary = session.summary
    return TranscriptHead(
        id=session.id,
        title=session.name or summary.title or session.id,
        cwd=session.cwd,
        model=session.model,
        started_ms=summary.first_ts,
        ended_ms=summary.last_ts,
        turns=summary.turns,
        cost_usd=summary.cost if summary.is_cost_known else None,
        origin="" if summary.origin is None else summary.origin.source,
    )


def entries_of(session: CataloguedSession) -> Iterator[Transcript]:
    """The conversation; what was left by going back is not in it."""
    return transcript(present_records(session.directory / LOG_NAME))


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
