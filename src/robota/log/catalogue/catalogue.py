"""Lists the sessions of one or all projects with their summaries, from an index for unchanged logs."""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.log.catalogue.live import held_logs
from robota.log.catalogue.places import SessionsPlace, session_directories
from robota.log.catalogue.summary import SessionStatus, SummaryFold
from robota.log.chain.growth import LogPosition, continues, last_records, records_since
from robota.log.chain.reader import LOG_NAME
from robota.log.derived_file import DerivedIndex, LogStamp, Notify, index_key, stamp_of
from robota.log.errors import LogError
from robota.log.store import PROJECT_DIRECTORY

# How many bytes of new records one listing reads. The next continues from there.
READ_AT_ONCE: Final = 8 * 1024 * 1024
# Enough of the beginning and the end to summarise a session of any length.
READ_OF_EACH: Final = 256 * 1024
INDEX: Final = DerivedIndex(
    name="sessions.sqlite",
    version=5,
    schema="CREATE TABLE session(path TEXT PRIMARY KEY, entry BLOB NOT NULL) WITHOUT ROWID",
)


class CatalogueEntry(msgspec.Struct, frozen=True, array_like=True):
    """The index entry of a log: the summary of everything before the position.

    Without a stamp, the log has not been read to its end; then `newest` is the summary with the last records added.
    """

    stamp: LogStamp | None
    position: LogPosition
    fold: SummaryFold
    newest: SummaryFold | None = None


class CataloguedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session as shown in lists.

    `is_own`: its log was written on this machine, at this path, and did not come with a repository. `is_partial`: the
    log is so long that it has not been read completely, so there are more turns than the summary says.
    """

    id: str
    directory: Path
    modified_ms: int
    size: int
    is_own: bool
    is_live: bool
    summary: SummaryFold
    is_partial: bool = False

    @property
    def name(self) -> str:
        """The last name of the session; empty if it has none."""
        header = self.summary.header
        return self.summary.name if self.summary.name is not None else (header.name if header else None) or ""

    @property
    def is_agent(self) -> bool:
        """Whether another session started it as an agent. Lists leave it out; it is found by its whole id."""
        return self.summary.header is not None and self.summary.header.agent_of is not None

    @property
    def cwd(self) -> str:
        """The working directory of the session."""
        return self.summary.header.cwd if self.summary.header is not None else ""

    @property
    def workspace(self) -> str:
        """The directory to resume in: the working directory, or the project of the log if it was imported or moved."""
        kept_in = self.directory.parent.parent
        if kept_in.name != PROJECT_DIRECTORY or (self.is_own and self.cwd and Path(self.cwd).is_dir()):
            return self.cwd or str(self.directory)
        return str(kept_in.parent)

    @property
    def model(self) -> str:
        """The model at the start or the last resumption."""
        return self.summary.header.model if self.summary.header is not None else ""

    @property
    def state(self) -> str:
        """The state of the session: running, or how it ended."""
        status = self.summary.status
        return "running" if self.is_live and status is not SessionStatus.WAITING else str(status)


def catalogue(
    places: Sequence[SessionsPlace], user_directory: Path | None, notify: Notify
) -> tuple[CataloguedSession, ...]:
    """The sessions of these places, the most recently written first."""
    listed = [_ListedLog(place, name) for place in places for name in session_directories(place)]
    present = [each for each in listed if each.stamp is not None]

    def refreshed(connection: sqlite3.Connection) -> dict[str, CatalogueEntry]:
        return _refreshed(connection, places, present)

    entries = INDEX.use(user_directory, refreshed, notify)
    live = held_logs(each.log for each in present)
    sessions = [each.catalogued(entries[each.key], is_live=each.log in live) for each in present]
    return tuple(sorted(sessions, key=lambda each: (-each.modified_ms, each.id)))


def glance_at(log: Path) -> SummaryFold:
    """A summary from the beginning and the end of a log, without an index."""
    fold, offset = SummaryFold(), 0
    try:
        for grown in records_since(log, LogPosition(), READ_OF_EACH):
            fold.take(grown.record)
            offset = grown.position.offset
        for record in last_records(log, READ_OF_EACH, offset):
            fold.take(record)
    except (OSError, LogError):
        pass  # Use the part before the damage.
    return fold


class _ListedLog:
    """A session directory and its current log; `stamp` is None without a log."""

    def __init__(self, place: SessionsPlace, name: str) -> None:
        self.place = place
        self.directory = place.directory / name
        self.log = self.directory / LOG_NAME
        self.key = index_key(self.directory)
        self.stamp: LogStamp | None = None
        self.modified_ms = 0
        try:
            status = self.log.lstat()
        except OSError:
            return
        self.stamp = stamp_of(status)
        self.modified_ms = status.st_mtime_ns // 1_000_000

    def catalogued(self, entry: CatalogueEntry, *, is_live: bool) -> CataloguedSession:
        assert self.stamp is not None
        return CataloguedSession(
            id=self.directory.name,
            directory=self.directory,
            modified_ms=self.modified_ms,
            size=self.stamp.size,
            is_own=self.directory.name in self.place.own,
            is_live=is_live,
            summary=entry.newest or entry.fold,
            is_partial=entry.stamp is None,
        )


def _refreshed(
    connection: sqlite3.Connection, places: Sequence[SessionsPlace], listed: Sequence[_ListedLog]
) -> dict[str, CatalogueEntry]:
    """The index entries of these sessions, updated for changed logs; those of deleted logs are removed."""
    entries: dict[str, CatalogueEntry] = {}
    changed: list[tuple[str, bytes]] = []
    room = READ_AT_ONCE
    for each in sorted(listed, key=lambda each: -each.modified_ms):
        stored = _stored_entry(connection, each.key)
        if stored is not None and stored.stamp == each.stamp:
            entries[each.key] = stored
            continue
        entries[each.key], taken = _read(each, stored, max(room, READ_OF_EACH))
        room -= taken
        changed.append((each.key, msgspec.msgpack.encode(entries[each.key])))
    gone = [(key,) for key in _keys_below(connection, places) if key not in entries]
    if changed or gone:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR REPLACE INTO session VALUES(?, ?)", changed)
            connection.executemany("DELETE FROM session WHERE path = ?", gone)
    return entries


def _stored_entry(connection: sqlite3.Connection, key: str) -> CatalogueEntry | None:
    row = connection.execute("SELECT entry FROM session WHERE path = ?", (key,)).fetchone()
    try:
        return None if row is None else msgspec.msgpack.decode(row[0], type=CatalogueEntry)
    except (msgspec.DecodeError, TypeError):
        return None


def _keys_below(connection: sqlite3.Connection, places: Iterable[SessionsPlace]) -> list[str]:
    keys: list[str] = []
    for place in places:
        prefix = index_key(place.directory) + "/"
        rows = connection.execute("SELECT path FROM session WHERE path >= ? AND path < ?", (prefix, prefix[:-1] + "0"))
        keys += [row[0] for row in rows]
    return keys


def _read(listed: _ListedLog, stored: CatalogueEntry | None, max_bytes: int) -> tuple[CatalogueEntry, int]:
    """Update the summary of a log from its last position, if it is still the same log. Also returns the bytes read."""
    assert listed.stamp is not None
    fold, position = SummaryFold(), LogPosition()
    start = 0
    try:
        if stored is not None and continues(listed.log, stored.position):
            fold, position = stored.fold, stored.position
        start = position.offset
        for grown in records_since(listed.log, position, max_bytes):
            fold.take(grown.record)
            position = grown.position
        if listed.stamp.size - start > max_bytes:
            return CatalogueEntry(None, position, fold, _with_end(listed, fold, position)), max_bytes
    except (OSError, LogError):
        pass  # Use the part before the damage; `show` and `verify` report it.
    return CatalogueEntry(listed.stamp, position, fold), listed.stamp.size - start


def _with_end(listed: _ListedLog, fold: SummaryFold, position: LogPosition) -> SummaryFold:
    """The summary with the last records of the log added, skipping those in between."""
    newest = msgspec.msgpack.decode(msgspec.msgpack.encode(fold), type=SummaryFold)
    for record in last_records(listed.log, READ_OF_EACH, position.offset):
        newest.take(record)
    return newest
