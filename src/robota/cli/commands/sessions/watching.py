"""`robota sessions watch`: what happens in a session that another process runs."""

import argparse
import sys
from collections import deque
from collections.abc import Iterator
from typing import Final

import msgspec

from robota.cli.commands.sessions.selection import chosen_session, tell
from robota.cli.commands.sessions.showing import print_line
from robota.clients.render.transcript_lines import transcript_lines
from robota.clients.terminal.line import BOLD, Line
from robota.log.chain.growth import GrownRecord, LogPosition, records_since
from robota.log.chain.reader import LOG_NAME
from robota.log.kinds.conversation import MessageRecord
from robota.log.record import PayloadError, Record, payload_of
from robota.log.replay.transcript import TranscriptFold
from robota.log.watch.follow import follow
from robota.protocol.asks.kinds import INTERACTIVE_ASKS
from robota.protocol.transcript import Transcript
from robota.text.visible import single_line

SHOWN_BEFORE: Final = 10
ASK_SHOWN: Final = 200


def run(options: argparse.Namespace) -> int:
    """Print what was there, then what comes, until the session is closed. Nothing is written anywhere."""
    session = chosen_session(options)
    log = session.directory / LOG_NAME
    if not session.is_live:
        tell(f"The session {session.id} is not running; this is how it ended.")
    position = LogPosition()
    fold = TranscriptFold()
    if not options.from_start:
        before: deque[Transcript] = deque(maxlen=SHOWN_BEFORE)
        newest_row: Record | None = None
        for grown in records_since(log, position):
            position = grown.position
            before.extend(fold.take(grown.record))
            newest_row = grown.record if grown.record.kind == "message" else newest_row
        if not options.json:
            _print_entries(iter(before))
            _print_ask(newest_row)
            sys.stdout.flush()
    for grown in follow(log, position, tell):
        if options.json:
            sys.stdout.buffer.write(msgspec.json.encode(_record_json(grown)) + b"\n")
        else:
            _print_entries(fold.take(grown.record))
            _print_ask(grown.record)
        sys.stdout.flush()
    if not options.json:
        _print_entries(fold.rest())
    return 0


def _print_entries(entries: Iterator[Transcript]) -> None:
    for entry in entries:
        for line in transcript_lines(entry):
            print_line(line)
    sys.stdout.flush()


def _print_ask(record: Record | None) -> None:
    """A question that waits for a person is no entry yet, but who watches wants to know of it."""
    try:
        payload = payload_of(record) if record is not None and record.kind == "message" else None
    except PayloadError:
        return
    row = payload.message if isinstance(payload, MessageRecord) else None
    if row is not None and row.ask in INTERACTIVE_ASKS and not (row.partial or row.is_answered or row.interrupted):
        print_line(Line(f"? waits for an answer to {row.ask}: {single_line(row.text or '', ASK_SHOWN)}", BOLD))


def _record_json(grown: GrownRecord) -> dict[str, object]:
    record = grown.record
    return {"seq": record.seq, "ts": record.ts, "kind": record.kind, "payload": record.payload}
