"""The full-text index: kept up to date from the logs, several processes at a time."""

import os
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.chain.growth import LogPosition, continues, records_since
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import LogError
from robota.log.search.texts import texts_of

# Of a log that came with a repository nobody waits for more to be read.
MOST_OF_FOREIGN: Final = 64 * 1024 * 1024
INDEX_NAME: Final = "search.sqlite"
INDEX_VERSION: Final = 1
SCHEMA: Final = """
CREATE TABLE log(id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
  offset INTEGER NOT NULL, hash TEXT NOT NULL, first_ts INTEGER NOT NULL);
CREATE VIRTUAL TABLE entry USING fts5(text, kind UNINDEXED, tool UNINDEXED,
  tokenize = "unicode61 remove_diacritics 2")
"""
# The number of a text holds the number of its log and its time, so that a text that changed replaces itself, and the
# texts of one log are a range. The time counts milliseconds from the first record: enough for 34 years.
TIME_BITS: Final = 40
TIME_MASK: Final = (1 << TIME_BITS) - 1
# Another process may write in between.
LOGS_IN_A_TRANSACTION: Final = 20


class IndexedLog(msgspec.Struct, frozen=True, kw_only=True):
    """What the index knows of one log."""

    id: int
    size: int = -1
    modified: int = -1
    position: LogPosition = LogPosition()
    first_ts: int = 0


def brought_up_to_date(
    connection: sqlite3.Connection, sessions: Sequence[CataloguedSession]
) -> dict[int, CataloguedSession]:
    """Take in what the logs of these sessions gained; returns the sessions by the number of their log."""
    known = {session.directory: _indexed(connection, session) for session in sessions}
    stale = [each for each in sessions if not _is_current(known[each.directory], each)]
    for start in range(0, len(stale), LOGS_IN_A_TRANSACTION):
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            for session in stale[start : start + LOGS_IN_A_TRANSACTION]:
                # Once more within the transaction: another process may have been faster.
                known[session.directory] = _refreshed(connection, session)
    return {log.id: session for session in sessions if (log := known[session.directory]) is not None}


def without_removed(connection: sqlite3.Connection) -> None:
    """Forget the texts of logs that are gone: what was deleted must not be found."""
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
    """The number of a text in the index."""
    return (log.id << TIME_BITS) | (max(0, ts - log.first_ts) & TIME_MASK)


def _is_current(log: IndexedLog | None, session: CataloguedSession) -> bool:
    return log is not None and (log.size, log.modified) == (session.size, session.modified_ms)


def _indexed(connection: sqlite3.Connection, session: CataloguedSession) -> IndexedLog | None:
    row = connection.execute(
        "SELECT id, size, modified, offset, hash, first_ts FROM log WHERE path = ?", (_key(session.directory),)
    ).fetchone()
    if row is None:
        return None
    number, size, modified, offset, digest, first_ts = row
    position = LogPosition(offset, digest)
    return IndexedLog(id=number, size=size, modified=modified, position=position, first_ts=first_ts)


def _refreshed(connection: sqlite3.Connection, session: CataloguedSession) -> IndexedLog:
    log = _indexed(connection, session) or _new(connection, session)
    if _is_current(log, session):
        return log
    path = session.directory / LOG_NAME
    position, first_ts = log.position, log.first_ts
    try:
        if not continues(path, position):
            _remove_texts(connection, log.id)
            position, first_ts = LogPosition(), 0
        most = sys.maxsize if session.is_own else max(0, MOST_OF_FOREIGN - position.offset)
        for grown in records_since(path, position, most):
            first_ts = first_ts or grown.record.ts
            position = grown.position
            log = msgspec.structs.replace(log, first_ts=first_ts)
            for text in texts_of(grown.record):
                row = (text_number(log, text.ts), text.text, text.kind, text.tool)
                connection.execute("INSERT OR REPLACE INTO entry(rowid, text, kind, tool) VALUES(?, ?, ?, ?)", row)
    except (OSError, LogError):
        pass  # What could be read of it can be found.
    connection.execute(
        "UPDATE log SET size = ?, modified = ?, offset = ?, hash = ?, first_ts = ? WHERE id = ?",
        (session.size, session.modified_ms, position.offset, position.hash, first_ts, log.id),
    )
    return msgspec.structs.replace(log, first_ts=first_ts)


def _remove_texts(connection: sqlite3.Connection, log_id: int) -> None:
    lowest = log_id << TIME_BITS
    connection.execute("DELETE FROM entry WHERE rowid BETWEEN ? AND ?", (lowest, lowest | TIME_MASK))


def _new(connection: sqlite3.Connection, session: CataloguedSession) -> IndexedLog:
    added = connection.execute("INSERT INTO log VALUES(NULL, ?, -1, -1, 0, '', 0)", (_key(session.directory),))
    assert added.lastrowid is not None
    return IndexedLog(id=added.lastrowid)


def _key(directory: Path) -> str:
    return os.fsencode(directory).decode("utf-8", "backslashreplace")
