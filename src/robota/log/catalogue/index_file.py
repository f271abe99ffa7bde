"""Opens an index: an SQLite file that can be deleted at any time, because it is derived from the logs."""

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from robota.config.durable_file import make_private_directory

INDEX_DIRECTORY: Final = "index"
# How long to wait for another process before using an index in memory.
BUSY_SECONDS: Final = 5.0
WAL_TRIES: Final = 100
# Not a database, damaged, or with unexpected tables for its version.
DAMAGED: Final = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
PRIMARY_CODE: Final = 0xFF

Result = TypeVar("Result")
Notify = Callable[[str], None]


def with_index(
    path: Path | None, schema: str, version: int, work: Callable[[sqlite3.Connection], Result], notify: Notify
) -> Result:
    """Run `work` on the index. A damaged index is rebuilt; an unusable one is replaced by an index in memory.

    Both are reported to `notify`. `work` may be called twice, so it must be idempotent. Without a path, the index is in
    memory.
    """
    for _ in range(2 if path is not None else 0):
        assert path is not None
        try:
            return _on_file(path, schema, version, work)
        except sqlite3.DatabaseError as error:
            if _code(error) not in DAMAGED:
                notify(f"The index {path} cannot be used now ({error}); the logs are read instead.")
                break
            notify(f"The index {path} cannot be used ({error}) and is rebuilt from the logs.")
            if not _removed(path):
                break
        except OSError as error:
            notify(f"The index {path} cannot be used ({error.strerror}); the logs are read instead.")
            break
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.executescript(schema)
        return work(connection)
    finally:
        connection.close()


def _on_file(path: Path, schema: str, version: int, work: Callable[[sqlite3.Connection], Result]) -> Result:
    make_private_directory(path.parent)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        _write_ahead(connection)
        # A power failure may lose the latest changes, but they can be read from the logs again.
        connection.execute("PRAGMA synchronous=NORMAL")
        _prepare(connection, schema, version)
        return work(connection)
    finally:
        connection.close()


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging, with retries, because SQLite does not wait for others that switch at first use."""
    for is_last in (*[False] * WAL_TRIES, True):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if is_last or _code(error) != sqlite3.SQLITE_BUSY:
                raise
            time.sleep(BUSY_SECONDS / WAL_TRIES)


def _prepare(connection: sqlite3.Connection, schema: str, version: int) -> None:
    """Create missing tables. Tables of another version are treated as damage."""
    found = _version(connection)
    if found == version:
        return
    connection.execute("BEGIN IMMEDIATE")
    found = _version(connection)  # another process may have been faster
    if found not in (0, version):
        connection.execute("ROLLBACK")
        error = sqlite3.DatabaseError(f"another version of Robota made it: {found}, not {version}")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error
    if found == 0:
        for statement in schema.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={version}")
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _code(error: sqlite3.DatabaseError) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & PRIMARY_CODE


def _removed(path: Path) -> bool:
    try:
        for suffix in ("", "-wal", "-shm", "-journal"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    except OSError:
        return False
    return True
