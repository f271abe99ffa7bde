"""Files that are derived from logs, and can therefore be deleted at any time.

They are kept outside the workspace, where no repository can plant one. One that was damaged, or that another version
wrote, is ignored and made again.
"""

import os
import stat
import time
from collections.abc import Callable
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

import msgspec

from robota.config.durable_file import make_private_directory
from robota.log.artifacts import write_whole
from robota.log.chain.growth import LogPosition, continues
from robota.log.errors import LogUnreadable
from robota.version import VERSION

if TYPE_CHECKING:
    import sqlite3

INDEX_DIRECTORY: Final = "index"
# How long to wait for another process before using an index in memory.
BUSY_SECONDS: Final = 5.0
WAL_TRIES: Final = 100
# Result codes of SQLite.
PRIMARY_CODE: Final = 0xFF
BUSY: Final = 5
# Not a database, damaged, or with unexpected tables for its version: SQLITE_ERROR, SQLITE_CORRUPT, SQLITE_NOTADB.
DAMAGED: Final = frozenset({1, 11, 26})

Result = TypeVar("Result")
Notify = Callable[[str], None]


class DerivedLabel(msgspec.Struct, frozen=True, kw_only=True):
    """The header line of a derived file: its format, the digest of the rest, and the directory of the session."""

    format: str
    digest: str
    directory: str = ""


class LogState(Protocol):
    """Content derived from a log, up to a position in it."""

    @property
    def position(self) -> LogPosition:
        """Where to continue to read the log."""
        ...


S = TypeVar("S", bound=LogState)


class DerivedFile(Generic[S]):
    """A file with one value derived from one log: a header line, then JSON."""

    def __init__(self, name: str, content: type[S]) -> None:
        """`name` says what the file contains and which version of that; the values are of the type `content`."""
        self._format = f"{name} {VERSION}"
        self._content = content

    def read(self, file: Path, log: Path) -> S | None:
        """The value, if it is intact, has this format, and the log still has the record that it was made after."""
        try:
            with file.open("rb") as stream:
                label = msgspec.json.decode(stream.readline(), type=DerivedLabel)
                body = stream.read() if label.format == self._format else b""
            if label.format != self._format or label.digest != sha256(body).hexdigest():
                return None
            value = msgspec.json.decode(body, type=self._content)
            return value if continues(log, value.position) else None
        except (OSError, LogUnreadable, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def write(self, file: Path, log: Path, value: S) -> bool:
        """Write the file; returns whether that worked. If not, an older file is unchanged."""
        body = msgspec.json.encode(value)
        directory = str(log.parent.resolve()).encode("utf-8", "replace").decode()
        label = DerivedLabel(format=self._format, digest=sha256(body).hexdigest(), directory=directory)
        try:
            make_private_directory(file.parent)
            write_whole(file, msgspec.json.encode(label) + b"\n", body)
        except OSError:
            return False
        return True


def drop_stale(directory: Path) -> None:
    """Remove the derived files of deleted sessions, because they contain parts of the conversation."""
    for file in directory.glob("*"):
        with suppress(OSError, msgspec.DecodeError):
            with file.open("rb") as stream:
                label = msgspec.json.decode(stream.readline(), type=DerivedLabel)
            if not Path(label.directory).exists():
                file.unlink()


class LogStamp(msgspec.Struct, frozen=True, array_like=True):
    """Identifies the state of a log. It uses ctime, which programs cannot set, unlike mtime."""

    size: int
    changed_ns: int
    inode: int


def stamp_of(status: os.stat_result) -> LogStamp | None:
    """The stamp of a log; None if it is not a regular file."""
    is_file = stat.S_ISREG(status.st_mode)
    return LogStamp(status.st_size, status.st_ctime_ns, status.st_ino) if is_file else None


def index_key(path: Path | str) -> str:
    """A path as text that SQLite accepts, whatever bytes it contains."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class DerivedIndex(msgspec.Struct, frozen=True, kw_only=True):
    """An SQLite file with tables derived from many logs."""

    name: str
    version: int
    schema: str

    def path(self, user_directory: Path | None) -> Path | None:
        """Where the index is kept; None without a user directory."""
        return None if user_directory is None else user_directory / INDEX_DIRECTORY / self.name

    def use(
        self, user_directory: Path | None, work: Callable[["sqlite3.Connection"], Result], notify: Notify
    ) -> Result:
        """Run `work` on the index. A damaged index is rebuilt; an unusable one is replaced by an index in memory.

        Both are reported to `notify`. `work` may be called twice, so it must be idempotent.
        """
        return self.use_at(self.path(user_directory), work, notify)

    def use_at(self, path: Path | None, work: Callable[["sqlite3.Connection"], Result], notify: Notify) -> Result:
        """The same for an index at this path, or in memory without one."""
        # Not needed to resume a session.
        import sqlite3

        for _ in range(2 if path is not None else 0):
            assert path is not None
            try:
                with closing(_opened(path)) as connection:
                    self._prepare(connection)
                    return work(connection)
            except (sqlite3.DatabaseError, _OtherVersion) as error:
                if _code(error) not in DAMAGED:
                    notify(f"The index {path} cannot be used now ({error}); the logs are read instead.")
                    break
                notify(f"The index {path} cannot be used ({error}) and is rebuilt from the logs.")
                if not _removed(path):
                    break
            except OSError as error:
                notify(f"The index {path} cannot be used ({error.strerror}); the logs are read instead.")
                break
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.executescript(self.schema)
            return work(connection)

    def _prepare(self, connection: "sqlite3.Connection") -> None:
        """Create missing tables. Tables of another version are treated as damage."""
        if _version(connection) == self.version:
            return
        connection.execute("BEGIN IMMEDIATE")
        version = _version(connection)  # another process may have been faster
        if version not in (0, self.version):
            raise _OtherVersion(f"another version of Robota made it: {version}, not {self.version}")
        if version == 0:
            for statement in self.schema.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={self.version}")
        connection.execute("COMMIT")


class _OtherVersion(Exception):
    sqlite_errorcode: Final = 11


def _opened(path: Path) -> "sqlite3.Connection":
    """The database, with write-ahead logging; SQLite does not wait for others that switch to it at first use."""
    import sqlite3

    make_private_directory(path.parent)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        for is_last in (*[False] * WAL_TRIES, True):
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                break
            except sqlite3.OperationalError as error:
                if is_last or _code(error) != BUSY:
                    raise
                time.sleep(BUSY_SECONDS / WAL_TRIES)
        # A power failure may lose the latest changes, but they can be read from the logs again.
        connection.execute("PRAGMA synchronous=NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _version(connection: "sqlite3.Connection") -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _code(error: "sqlite3.DatabaseError | _OtherVersion") -> int:
    """The primary result code. Errors of the `sqlite3` module itself have none, and mean damage."""
    return getattr(error, "sqlite_errorcode", 1) & PRIMARY_CODE


def _removed(path: Path) -> bool:
    try:
        for suffix in ("", "-wal", "-shm", "-journal"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    except OSError:
        return False
    return True
