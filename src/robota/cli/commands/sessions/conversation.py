"""The conversation of a session for those actions that print it: its head, and its entries on the present branch."""

from collections.abc import Iterator

from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.chain.reader import LOG_NAME
from robota.log.replay.present_records import present_records
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
