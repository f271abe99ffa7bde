"""The conversation of a session for actions that print it: header, and entries of the current branch."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.chain.growth import last_records
from robota.log.chain.reader import LOG_NAME
from robota.log.replay.branches import present_among, present_records
from robota.log.replay.transcript import transcript
from robota.protocol.transcript import Transcript, TranscriptHead

READ_BYTES: Final = (1024 * 1024, 8 * 1024 * 1024, 64 * 1024 * 1024)
SPARE: Final = 20


def head_of(session: CataloguedSession) -> TranscriptHead:
    """The header of the conversation."""
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
    """The conversation without the parts that were removed by going back."""
    return transcript(present_records(session.directory / LOG_NAME))


def last_entries_of(session: CataloguedSession, most: int) -> Sequence[Transcript]:
    """The last entries. Of a long log only the end is read, unless that contains too few entries."""
    log = session.directory / LOG_NAME
    for size in READ_BYTES:
        is_whole = log.stat().st_size <= size
        entries = list(transcript(present_among(last_records(log, size)), is_continued=not is_whole))
        # The first ones may be of calls whose beginning was not read, so some spare entries are needed.
        if is_whole or len(entries) >= most + (SPARE if size < READ_BYTES[-1] else 0):
            return entries[-most:]
    return deque(entries_of(session), most)
