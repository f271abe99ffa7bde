"""Reads the end of a conversation from the end of its log, without a snapshot and regardless of its length."""

from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.growth import last_records
from robota.log.record import Record
from robota.log.replay.present_records import present_among
from robota.log.replay.session import ReplayedSession, SessionFold

ROWS_WANTED: Final = 100
FIRST_BYTES: Final = 1024 * 1024
MOST_BYTES: Final = 64 * 1024 * 1024
MORE: Final = 8


class LogTail(msgspec.Struct, frozen=True, kw_only=True):
    """The state that the last records show: the current task of the session, and its newest rows.

    Anything earlier is unknown, such as the turns, the cost and, unless `is_whole`, the number of earlier rows.
    """

    session: ReplayedSession
    last_ts: int = 0
    is_whole: bool = False


def tail_of(log: Path, rows: int = ROWS_WANTED, first_bytes: int = FIRST_BYTES) -> LogTail:
    """The tail with at least this many rows, if the last part of the log has them. Raises `LogUnreadable`, OSError."""
    size = first_bytes
    while True:
        is_whole = log.stat().st_size <= size
        tail = _told_by(last_records(log, size), is_whole=is_whole)
        root = tail.session.root
        if is_whole or size >= MOST_BYTES or (root is not None and len(root.messages) >= rows):
            return tail
        size *= MORE


def _told_by(records: list[Record], *, is_whole: bool) -> LogTail:
    fold = SessionFold()
    for record in present_among(records):
        fold.take(record)
    return LogTail(session=fold.session(), last_ts=records[-1].ts if records else 0, is_whole=is_whole)
