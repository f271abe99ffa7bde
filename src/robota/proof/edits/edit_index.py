"""The index of file changes in one project, updated from its logs and checkpoints."""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from robota.log.catalogue.places import SessionsPlace, session_directories
from robota.log.chain.growth import LogPosition, continues, records_since
from robota.log.chain.reader import LOG_NAME
from robota.log.derived_file import DerivedIndex, LogStamp, index_key, stamp_of
from robota.log.errors import LogError
from robota.proof.calls.call_story import CallChanges
from robota.proof.calls.story_fold import StoryFold
from robota.proof.edits.file_edit import CheckpointReader, FileEdit, edits_saved, edits_shown
from robota.proof.lines.line_hashes import packed
from robota.workspace.checkpoints.private_git import CheckpointError

INDEX: Final = DerivedIndex(
    name="edits.sqlite",
    version=5,
    schema="""
CREATE TABLE log(id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, size INTEGER NOT NULL, changed INTEGER NOT NULL,
  inode INTEGER NOT NULL, offset INTEGER NOT NULL, hash TEXT NOT NULL, is_copy INTEGER NOT NULL, fold BLOB NOT NULL);
CREATE TABLE edit(id INTEGER PRIMARY KEY, log INTEGER NOT NULL, started INTEGER NOT NULL, call TEXT NOT NULL,
  path TEXT NOT NULL, old_path TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, added BLOB NOT NULL,
  is_whole INTEGER NOT NULL, checkpoint TEXT NOT NULL, story BLOB NOT NULL);
CREATE INDEX edit_path ON edit(path, started);
CREATE INDEX edit_call ON edit(log, started, call);
CREATE TABLE version(key TEXT PRIMARY KEY, lines BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE line(hash INTEGER NOT NULL, edit INTEGER NOT NULL, PRIMARY KEY(hash, edit)) WITHOUT ROWID;
CREATE INDEX line_edit ON line(edit)
""",
)

UNKNOWN: Final = LogStamp(-1, -1, -1)
MANY_LOGS: Final = 100

# Opens the checkpoints of a session's workspace; None if there are none that can be trusted.
OpenCheckpoints = Callable[[str], AbstractContextManager[CheckpointReader] | None]


class EditLog(msgspec.Struct, frozen=True, kw_only=True):
    """A log and how much of it is indexed. `is_own`: it was written on this machine."""

    path: Path
    stamp: LogStamp
    is_own: bool
    id: int | None = None
    indexed_stamp: LogStamp = UNKNOWN
    position: LogPosition = LogPosition()
    fold: bytes = b""

    @property
    def session_id(self) -> str:
        """The name of the directory of the session."""
        return self.path.parent.name


def brought_up_to_date(
    connection: sqlite3.Connection,
    places: Iterable[SessionsPlace],
    checkpoints: OpenCheckpoints,
    tell: Callable[[str], None],
) -> dict[int, EditLog]:
    """Index the new records of the logs in these places; returns the logs by their number in the index.

    `tell` gets a message if that takes a moment.
    """
    logs: dict[int, EditLog] = {}
    indexed = _indexed_stamps(connection)
    present = list(_present_logs(places, indexed))
    stale = sum(log.indexed_stamp != log.stamp for log in present)
    if stale >= MANY_LOGS:
        tell(f"{stale:,} logs are not in the index yet; reading them takes a moment.")
    for log in present:
        current = (
            log if log.id is not None and log.indexed_stamp == log.stamp else _indexed(connection, log, checkpoints)
        )
        if current.id is not None:
            logs[current.id] = current
    _forget(connection, [number for number, _ in indexed.values() if number not in logs])
    return logs


_IndexedStamps = dict[str, tuple[int, LogStamp]]


def _indexed_stamps(connection: sqlite3.Connection) -> _IndexedStamps:
    rows = connection.execute("SELECT path, id, size, changed, inode FROM log")
    return {path: (number, LogStamp(size, changed, inode)) for path, number, size, changed, inode in rows}


def _present_logs(places: Iterable[SessionsPlace], indexed: _IndexedStamps) -> Iterator[EditLog]:
    for place in places:
        directory = str(place.directory)
        for name in session_directories(place):
            path = f"{directory}/{name}/{LOG_NAME}"
            try:
                now = stamp_of(os.lstat(path))
            except OSError:
                continue
            if now is not None:
                number, stamp = indexed.get(index_key(path), (None, UNKNOWN))
                yield EditLog(path=Path(path), stamp=now, is_own=name in place.own, id=number, indexed_stamp=stamp)


def _indexed(connection: sqlite3.Connection, log: EditLog, checkpoints: OpenCheckpoints) -> EditLog:
    """Index the new records of a log, unless another process has done so meanwhile."""
    log = _with_position(connection, log)
    position, fold, changes = LogPosition(), StoryFold(), dict[tuple[int, str], CallChanges]()
    is_going_on = False
    try:
        is_going_on = log.id is not None and continues(log.path, log.position)
        if is_going_on:
            position, fold = log.position, msgspec.msgpack.decode(log.fold, type=StoryFold)
        for grown in records_since(log.path, position):
            position = grown.position
            for outcome in fold.take(grown.record):
                if isinstance(outcome, CallChanges):
                    # The edits known after the next checkpoint replace those known before.
                    changes[outcome.story.started_ms, outcome.story.call_id] = outcome
    except (OSError, LogError, msgspec.DecodeError):
        pass  # Index the part before the damage.
    edits = _edits_of(list(changes.values()), fold.cwd, checkpoints if log.is_own else _no_checkpoints)
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if _with_position(connection, log).position != log.position:
            return log
        number = _write_log(connection, log, position, fold)
        if not is_going_on:
            _remove_edits(connection, number)
        for change, file_edits in edits:
            _write_edits(connection, number, change, file_edits)
    return msgspec.structs.replace(log, id=number)


def _no_checkpoints(cwd: str) -> None:
    return None


def _edits_of(
    changes: Sequence[CallChanges], cwd: str, checkpoints: OpenCheckpoints
) -> list[tuple[CallChanges, list[FileEdit]]]:
    """The edits of each call: from its checkpoints, or from the diffs in rows."""
    needs_checkpoints = any(change.before and change.after and change.before != change.after for change in changes)
    opening = checkpoints(cwd) if needs_checkpoints else None
    if opening is None:
        return [(change, edits_shown(change)) for change in changes]
    try:
        with opening as store:
            return [(change, _saved_or_shown(change, store)) for change in changes]
    except CheckpointError:
        return [(change, edits_shown(change)) for change in changes]


def _saved_or_shown(change: CallChanges, store: CheckpointReader) -> list[FileEdit]:
    if not change.before or not change.after:
        return edits_shown(change)
    if change.before == change.after:
        return []
    try:
        return edits_saved(change, store)
    except CheckpointError:
        return edits_shown(change)


def _with_position(connection: sqlite3.Connection, log: EditLog) -> EditLog:
    row = connection.execute("SELECT id, offset, hash, fold FROM log WHERE path = ?", (index_key(log.path),)).fetchone()
    if row is None:
        return msgspec.structs.replace(log, id=None, position=LogPosition(), fold=b"")
    return msgspec.structs.replace(log, id=row[0], position=LogPosition(row[1], row[2]), fold=row[3])


def _write_log(connection: sqlite3.Connection, log: EditLog, position: LogPosition, fold: StoryFold) -> int:
    stamp = log.stamp
    values = (stamp.size, stamp.changed_ns, stamp.inode, position.offset, position.hash, fold.has_origin)
    state = msgspec.msgpack.encode(fold)
    if log.id is not None:
        connection.execute(
            "UPDATE log SET size = ?, changed = ?, inode = ?, offset = ?, hash = ?, is_copy = ?, fold = ? WHERE id = ?",
            (*values, state, log.id),
        )
        return log.id
    row = (index_key(log.path), *values, state)
    added = connection.execute("INSERT INTO log VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    assert added.lastrowid is not None
    return added.lastrowid


def _write_edits(connection: sqlite3.Connection, log: int, change: CallChanges, edits: Sequence[FileEdit]) -> None:
    story = change.story
    where = (log, story.started_ms, story.call_id)
    connection.execute(
        "DELETE FROM line WHERE edit IN (SELECT id FROM edit WHERE log = ? AND started = ? AND call = ?)", where
    )
    connection.execute("DELETE FROM edit WHERE log = ? AND started = ? AND call = ?", where)
    outcome = msgspec.msgpack.encode(story)
    for edit in edits:
        old, new = (_store_lines(connection, packed(lines)) for lines in (edit.old, edit.new))
        row = (*where, edit.path, edit.old_path, old, new, packed(edit.added), edit.is_whole, change.before, outcome)
        added = connection.execute("INSERT INTO edit VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.executemany("INSERT INTO line VALUES(?, ?)", ((each, added.lastrowid) for each in edit.findable))


def _store_lines(connection: sqlite3.Connection, lines: bytes) -> str:
    key = blake2b(lines, digest_size=16).hexdigest()
    connection.execute("INSERT OR IGNORE INTO version VALUES(?, ?)", (key, lines))
    return key


def _forget(connection: sqlite3.Connection, gone: Sequence[int]) -> None:
    """Remove the entries of logs that no longer exist: deleted sessions must not be found."""
    if not gone:
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for number in gone:
            _remove_edits(connection, number)
            connection.execute("DELETE FROM log WHERE id = ?", (number,))
        connection.execute("DELETE FROM version WHERE key NOT IN (SELECT old FROM edit UNION SELECT new FROM edit)")


def _remove_edits(connection: sqlite3.Connection, log: int) -> None:
    connection.execute("DELETE FROM line WHERE edit IN (SELECT id FROM edit WHERE log = ?)", (log,))
    connection.execute("DELETE FROM edit WHERE log = ?", (log,))
