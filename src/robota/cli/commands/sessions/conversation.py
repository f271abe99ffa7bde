"""The conversation of a session for those actions that print it: its head, and its entries on the present branch."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.chain.growth import last_records
from robota.log.chain.reader import LOG_NAME
from robota.log.replay.present_records import present_among, present_records
from robota.log.replay.transcript import transcript
from robota.protocol.transcript import Transcript, TranscriptHead

READ_BYTES: Final = (1024 * 1024, 8 * 1024 * 1024, 64 * 1024 * 1024)
SPARE: Final = 20


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


def last_entries_of(session: CataloguedSession, most: int) -> Sequence[Transcript]:
    """The last entries. Of a long log only its end is read, unless that has too few of them."""
    log = session.directory / LOG_NAME
    for size in READ_BYTES:
        is_whole = log.stat().st_size <= size
        entries = list(transcript(present_among(last_records(log, size)), is_continued=not is_whole))
        # The first ones may be of calls whose beginning was not read, so there should be some to spare.
        if is_whole or len(entries) >= most + (SPARE if size < READ_BYTES[-1] else 0):
            return entries[-most:]
    return deque(entries_of(session), most)
