"""Shows the conversation of a stored session, and follows one that another process runs."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final

import msgspec

from robota.clients.render.transcript_lines import transcript_lines
from robota.clients.terminal.line import BOLD, DIM, Line
from robota.commands.families.sessions import ShowSession, WatchSession
from robota.commands.sessions.selection import named_or_newest_session
from robota.commands.stored_sessions import newest_rows_of
from robota.commands.verb import Answer, PagedOutput, RawOutput, SessionRefused, printed
from robota.commands.verb_host import VerbHost
from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.chain.growth import GrownRecord, LogPosition, last_records, position_before_end, records_since
from robota.log.chain.reader import LOG_NAME
from robota.log.follow import follow
from robota.log.kinds.conversation import MessageRecord
from robota.log.kinds.rewinds import RewindRecord
from robota.log.record import Record, payload_of
from robota.log.replay.branches import present_among, present_records
from robota.log.replay.transcript import TranscriptFold, transcript
from robota.protocol.asks.ask import ApprovalAsk, QuestionAsk
from robota.protocol.asks.kinds import INTERACTIVE_ASKS
from robota.protocol.asks.seed import ask_of
from robota.protocol.commands import Refused
from robota.protocol.transcript import Noted, Transcript, TranscriptHead
from robota.text.visible import single_line

READ_BYTES: Final = (1024 * 1024, 8 * 1024 * 1024, 64 * 1024 * 1024)
SPARE: Final = 20
SHOWN_BEFORE: Final = 10
READ_BEFORE: Final = 8 * 1024 * 1024
MAX_ASK: Final = 200
WENT_BACK: Final = "The conversation was rewound; `robota sessions show` prints its current state."


def show_session(host: VerbHost, args: ShowSession) -> Answer:
    """The whole conversation of a session; in a conversation, the newest rows."""
    session = named_or_newest_session(host, args.session, everywhere=args.all)
    if host.opened is not None:
        rows = newest_rows_of(session)
        if isinstance(rows, Refused):
            raise SessionRefused(rows)
        return Answer(outcome=rows)
    head = head_of(session)
    entries = entries_of(session) if args.last is None else iter(last_entries_of(session, args.last))
    lines = chain(_heading(head), _lines(entries, whole_output=args.output))
    data = partial(_conversation_json, head, entries)
    return printed(PagedOutput(lines, stops=not args.no_pager), data)


def _conversation_json(head: TranscriptHead, entries: Iterable[Transcript]) -> dict[str, Any]:
    return {"head": head, "entries": list(entries)}


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


def _heading(head: TranscriptHead) -> Iterator[Line]:
    started = time.strftime("%Y-%m-%d %H:%M", time.localtime(head.started_ms / 1000))
    yield Line(single_line(head.title, 200), BOLD)
    yield Line(single_line(f"{head.id}  {started}  {head.model}  {head.cwd}", 400), DIM)


def _lines(entries: Iterable[Transcript], *, whole_output: bool = False) -> Iterator[Line]:
    for entry in entries:
        yield from transcript_lines(entry, whole_output=whole_output)


def watch_session(host: VerbHost, args: WatchSession) -> Answer:
    """The existing entries, then new ones, until the session is closed. Writes nothing to disk."""
    session = named_or_newest_session(host, args.session, everywhere=args.all)
    if not session.is_live:
        is_empty = host.wants_all and not args.from_start
        ended = "--from-start prints its records" if is_empty else "this is how it ended"
        host.tell(f"The session {session.id} is not running; {ended}.")
    log = session.directory / LOG_NAME
    start = LogPosition() if args.from_start else position_before_end(log, READ_BEFORE)
    before = () if args.from_start else tuple(records_since(log, start))
    position = before[-1].position if before else start
    new = follow(log, position, host.tell)
    if host.wants_all:
        return printed(RawOutput(msgspec.json.encode(_record_json(grown)) + b"\n" for grown in new))
    fold = TranscriptFold(is_continued=start.offset > 0)
    return printed(PagedOutput(_watched(before, new, fold), stops=False))


def _watched(before: Sequence[GrownRecord], new: Iterable[GrownRecord], fold: TranscriptFold) -> Iterator[Line]:
    entries = deque((entry for grown in before for entry in _entries_of(grown.record, fold)), SHOWN_BEFORE)
    yield from _lines(entries)
    newest_row = next((grown.record for grown in reversed(before) if grown.record.kind == "message"), None)
    yield from _ask_lines(newest_row)
    for grown in new:
        yield from _lines(_entries_of(grown.record, fold))
        yield from _ask_lines(grown.record)
    yield from _lines(fold.rest())


def _entries_of(record: Record, fold: TranscriptFold) -> Iterator[Transcript]:
    """The entries that a record adds. Printed lines cannot be removed, so going back is printed as a notice."""
    yield from fold.take(record)
    payload = payload_of(record) if record.kind == "rewind" else None
    if isinstance(payload, RewindRecord) and payload.to is not None:
        yield Noted(ts=record.ts, text=WENT_BACK)


def _ask_lines(record: Record | None) -> Iterator[Line]:
    """A question that waits for the user, which is not an entry yet."""
    payload = payload_of(record) if record is not None and record.kind == "message" else None
    row = payload.message if isinstance(payload, MessageRecord) else None
    if row is None or row.ask not in INTERACTIVE_ASKS or row.partial or row.is_answered or row.interrupted:
        return
    match asked := ask_of(row):
        case QuestionAsk():
            text = f"waiting for an answer: {single_line(asked.question, MAX_ASK)}"
        case ApprovalAsk():
            text = f"waiting for approval: {single_line(asked.title, MAX_ASK)}"
        case _:
            text = f"waiting for an answer to {row.ask}: {single_line(row.text or '', MAX_ASK)}"
    yield Line(f"? {text}", BOLD)


def _record_json(grown: GrownRecord) -> dict[str, object]:
    record = grown.record
    return {"seq": record.seq, "ts": record.ts, "kind": record.kind, "payload": record.payload}
