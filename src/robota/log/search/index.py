"""The full-text index, updated from the logs; several processes may do so concurrently."""

import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.chain.growth import LogPosition, continues, records_since
from robota.log.chain.reader import LOG_NAME
from robota.log.derived_file import DerivedIndex, index_key
from robota.log.errors import LogError
from robota.log.search.scripts_without_spaces import with_separators
from robota.log.search.texts import texts_of

# How much is read of a log that came with a repository.
MAX_FOREIGN_BYTES: Final = 64 * 1024 * 1024
PUT: Final = "INSERT OR REPLACE INTO entry(rowid, text, kind, tool) VALUES(?, ?, ?, ?)"
INDEX: Final = DerivedIndex(
    name="search.sqlite",
    version=2,
    schema="""
CREATE TABLE log(id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
  offset INTEGER NOT NULL, hash TEXT NOT NULL, first_ts INTEGER NOT NULL);
CREATE VIRTUAL TABLE entry USING fts5(text, kind UNINDEXED, tool UNINDEXED,
  tokenize = "unicode61 remove_diacritics 2")
""",
)
# A row id combines the number of the log with the time of the text, so that a changed text replaces itself, and the
# texts of one log are a range. Times are milliseconds since the first record: enough for 34 years.
TIME_BITS: Final = 40
TIME_MASK: Final = (1 << TIME_BITS) - 1
# Commit in between, so that other processes can write and an interruption keeps the progress.
BYTES_IN_A_TRANSACTION: Final = 16 * 1024 * 1024
PROGRESS_BYTES: Final = 1024 * 1024

TellProgress = Callable[[int, int], object]


class IndexedLog(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one log in the index."""

    id: int
    size: int = -1
    modified: int = -1
    position: LogPosition = LogPosition()
    first_ts: int = 0


def brought_up_to_date(
    connection: sqlite3.Connection, sessions: Sequence[CataloguedSession], progress: TellProgress
) -> dict[int, CataloguedSession]:
    """Index what was added to the logs of these sessions; returns the sessions by the number of their log.

    `progress` is called with the bytes read and the total.
    """
    indexed = {session.directory: _indexed(connection, session) for session in sessions}
    stale = [each for each in sessions if not _is_current(indexed[each.directory], each)]
    reading = _Reading(connection, progress, sum(_unread(indexed[each.directory], each) for each in stale))
    waiting = deque(stale)
    while waiting:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            reading.room = BYTES_IN_A_TRANSACTION
            while waiting and reading.room > 0:
                # Checked again within the transaction: another process may have been faster.
                indexed[waiting[0].directory], is_done = reading.refreshed(waiting[0])
                if is_done:
                    waiting.popleft()
    return {log.id: session for session in sessions if (log := indexed[session.directory]) is not None}


def without_removed(connection: sqlite3.Connection) -> None:
    """Remove the texts of logs that no longer exist: deleted sessions must not be found."""
    logs = connection.execute("SELECT id, path FROM log").fetchall()
    gone = [number for number, path in logs if not (Path(path) / LOG_NAME).exists()]
    if not gone:
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for number in gone:
            _remove_texts(connection, number)
            connection.execute("DELETE FROM log WHERE id = ?", (number,))


def text_number(log: IndexedLog, ts: int) -> int:
    """The row id of a text in the index."""
    return (log.id << TIME_BITS) | (max(0, ts - log.first_ts) & TIME_MASK)


def _is_current(log: IndexedLog | None, session: CataloguedSession) -> bool:
    return log is not None and (log.size, log.modified) == (session.size, session.modified_ms)


def _indexed(connection: sqlite3.Connection, session: CataloguedSession) -> IndexedLog | None:
    row = connection.execute(
        "SELECT id, size, modified, offset, hash, first_ts FROM log WHERE path = ?", (index_key(session.directory),)
    ).fetchone()
    if row is None:
        return None
    number, size, modified, offset, digest, first_ts = row
    position = LogPosition(offset, digest)
    return IndexedLog(id=number, size=size, modified=modified, position=position, first_ts=first_ts)


def _unread(log: IndexedLog | None, session: CataloguedSession) -> int:
    most = session.size if session.is_own else min(session.size, MAX_FOREIGN_BYTES)
    return max(0, most - (0 if log is None else log.position.offset))


class _Reading:
    """Indexes logs. `room` is how many more bytes may be read in this transaction."""

    def __init__(self, connection: sqlite3.Connection, progress: TellProgress, size: int) -> None:
        self._connection = connection
        self._progress = progress
        self._size = size
        self._done = 0
        self.room = 0

    def refreshed(self, session: CataloguedSession) -> tuple[IndexedLog, bool]:
        """Index the new records of a log; returns its state and whether it is finished."""
        log = _indexed(self._connection, session) or _new(self._connection, session)
        if _is_current(log, session):
            return log, True
        path, is_done = session.directory / LOG_NAME, True
        try:
            if not continues(path, log.position):
                _remove_texts(self._connection, log.id)
                log = IndexedLog(id=log.id)
            start, unread = log.position.offset, _unread(log, session)
            log = self._index_next(path, log, min(unread, self.room))
            is_done = unread <= self.room
            if not is_done and log.position.offset == start:  # the damaged part is larger than the room
                log, is_done = self._index_next(path, log, unread), True
            self.room -= max(1, log.position.offset - start)
        except (OSError, LogError):
            pass  # Index the part before the damage.
        if is_done:
            log = msgspec.structs.replace(log, size=session.size, modified=session.modified_ms)
        self._connection.execute(
            "UPDATE log SET size = ?, modified = ?, offset = ?, hash = ?, first_ts = ? WHERE id = ?",
            (log.size, log.modified, log.position.offset, log.position.hash, log.first_ts, log.id),
        )
        return log, is_done

    def _index_next(self, path: Path, log: IndexedLog, most: int) -> IndexedLog:
        """Index the next records, those that start within the next `most` bytes."""
        start = reported = log.position.offset
        for grown in records_since(path, log.position, most):
            if grown.position.offset - reported >= PROGRESS_BYTES:
                reported = grown.position.offset
                self._progress(self._done + reported - start, self._size)
            log = msgspec.structs.replace(log, first_ts=log.first_ts or grown.record.ts, position=grown.position)
            for text in texts_of(grown.record):
                row = (text_number(log, text.ts), with_separators(text.text), text.kind, text.tool)
                self._connection.execute(PUT, row)
        self._done += log.position.offset - start
        self._progress(self._done, self._size)
        return log


def _remove_texts(connection: sqlite3.Connection, log_id: int) -> None:
    lowest = log_id << TIME_BITS
    connection.execute("DELETE FROM entry WHERE rowid BETWEEN ? AND ?", (lowest, lowest | TIME_MASK))


def _new(connection: sqlite3.Connection, session: CataloguedSession) -> IndexedLog:
    added = connection.execute("INSERT INTO log VALUES(NULL, ?, -1, -1, 0, '', 0)", (index_key(session.directory),))
    assert added.lastrowid is not None
    return IndexedLog(id=added.lastrowid)
