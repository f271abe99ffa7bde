"""`robota sessions watch`: follow a session that another process runs."""

import argparse
import sys
from collections import deque
from collections.abc import Iterator
from typing import Final

import msgspec

from robota.cli.commands.sessions.selection import named_or_newest_session, tell
from robota.cli.commands.sessions.showing import print_line
from robota.clients.render.transcript_lines import transcript_lines
from robota.clients.terminal.line import BOLD, Line
from robota.log.chain.growth import GrownRecord, LogPosition, position_before_end, records_since
from robota.log.chain.reader import LOG_NAME
from robota.log.kinds.conversation import MessageRecord
from robota.log.kinds.rewinds import RewindRecord
from robota.log.record import PayloadError, Record, payload_of
from robota.log.replay.transcript import TranscriptFold
from robota.log.watch.follow import follow
from robota.protocol.asks.ask import ApprovalAsk, QuestionAsk
from robota.protocol.asks.kinds import INTERACTIVE_ASKS
from robota.protocol.asks.seed import ask_of
from robota.protocol.transcript import Noted, Transcript
from robota.text.visible import single_line

SHOWN_BEFORE: Final = 10
READ_BEFORE: Final = 8 * 1024 * 1024
ASK_SHOWN: Final = 200
WENT_BACK: Final = "The conversation was rewound; `robota sessions show` prints its current state."


def run(options: argparse.Namespace) -> int:
    """Print the existing entries, then new ones, until the session is closed. Writes nothing to disk."""
    session = named_or_newest_session(options)
    log = session.directory / LOG_NAME
    if not session.is_live:
        ended = "--from-start prints its records" if options.json and not options.from_start else "this is how it ended"
        tell(f"The session {session.id} is not running; {ended}.")
    position = LogPosition() if options.from_start else position_before_end(log, READ_BEFORE)
    fold = TranscriptFold(is_continued=position.offset > 0)
    if not options.from_start:
        before: deque[Transcript] = deque(maxlen=SHOWN_BEFORE)
        newest_row: Record | None = None
        for grown in records_since(log, position):
            position = grown.position
            before.extend(_entries_of(grown.record, fold))
            newest_row = grown.record if grown.record.kind == "message" else newest_row
        if not options.json:
            _print_entries(iter(before))
            _print_ask(newest_row)
            sys.stdout.flush()
    for grown in follow(log, position, tell):
        if options.json:
            sys.stdout.buffer.write(msgspec.json.encode(_record_json(grown)) + b"\n")
        else:
            _print_entries(_entries_of(grown.record, fold))
            _print_ask(grown.record)
        sys.stdout.flush()
    if not options.json:
        _print_entries(fold.rest())
    return 0


def _entries_of(record: Record, fold: TranscriptFold) -> Iterator[Transcript]:
    """The entries that a record adds. Printed lines cannot be removed, so going back is printed as a notice."""
    yield from fold.take(record)
    try:
        payload = payload_of(record) if record.kind == "rewind" else None
    except PayloadError:
        return
    if isinstance(payload, RewindRecord) and payload.to is not None:
        yield Noted(ts=record.ts, text=WENT_BACK)


def _print_entries(entries: Iterator[Transcript]) -> None:
    for entry in entries:
        for line in transcript_lines(entry):
            print_line(line)
    sys.stdout.flush()


def _print_ask(record: Record | None) -> None:
    """Print a question that waits for the user, which is not an entry yet."""
    try:
        payload = payload_of(record) if record is not None and record.kind == "message" else None
    except PayloadError:
        return
    row = payload.message if isinstance(payload, MessageRecord) else None
    if row is not None and row.ask in INTERACTIVE_ASKS and not (row.partial or row.is_answered or row.interrupted):
        match asked := ask_of(row):
            case QuestionAsk():
                words = f"waiting for an answer: {single_line(asked.question, ASK_SHOWN)}"
            case ApprovalAsk():
                words = f"waiting for approval: {single_line(asked.title, ASK_SHOWN)}"
            case _:
                words = f"waiting for an answer to {row.ask}: {single_line(row.text or '', ASK_SHOWN)}"
        print_line(Line(f"? {words}", BOLD))


def _record_json(grown: GrownRecord) -> dict[str, object]:
    record = grown.record
    return {"seq": record.seq, "ts": record.ts, "kind": record.kind, "payload": record.payload}
