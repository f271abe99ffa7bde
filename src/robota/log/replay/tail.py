"""Reads the end of a conversation from the end of its log, without a snapshot and regardless of its length."""

from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.growth import last_records
from robota.log.replay.session import SessionFold, replay

MIN_ROWS: Final = 100
FIRST_BYTES: Final = 1024 * 1024
MAX_BYTES: Final = 64 * 1024 * 1024
GROWTH_FACTOR: Final = 8


class LogTail(msgspec.Struct, frozen=True, kw_only=True):
    """The state that the last records show: the current task of the session, and its newest rows.

    Anything earlier is unknown, such as the turns, the cost and, unless `is_whole`, the number of earlier rows.
    """

    session: SessionFold
    last_ts: int = 0
    is_whole: bool = False


def tail_of(log: Path, rows: int = MIN_ROWS, first_bytes: int = FIRST_BYTES) -> LogTail:
    """The tail with at least this many rows, if the last part of the log has them. Raises `LogUnreadable`, OSError."""
    size = first_bytes
    while True:
        is_whole = log.stat().st_size <= size
        records = last_records(log, size)
        session = replay(records)
        if is_whole or size >= MAX_BYTES or (session.root is not None and len(session.root.rows) >= rows):
            return LogTail(session=session, last_ts=records[-1].ts if records else 0, is_whole=is_whole)
        size *= GROWTH_FACTOR
