"""The one writer of a session's log: append, fsync, keep artifacts."""

import asyncio
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from robota.log.artifacts import (
    artifact_name,
    artifact_path,
    keep_artifact,
    keep_artifact_file,
    read_artifact,
)
from robota.log.chain.durability import Durability, is_in_place
from robota.log.chain.head import ChainHead
from robota.log.chain.put_back import put_back
from robota.log.chain.reader import LOG_NAME, Loaded, load
from robota.log.errors import LogError, LogExists, LogInUse, LogUnreadable, LogWriteError
from robota.log.kinds.requests import ContentRecord
from robota.log.record import Payload, kind_of, seal
from robota.secrets.redaction import Redactor

ARTIFACTS_NAME: Final = "artifacts"
LOCK_TRIES: Final = 10
# A longer text would make the log slow to read; it becomes an artifact.
INLINE_TEXT_BYTES: Final = 64 * 1024
DEFAULT_MOST_OUTPUT_BYTES: Final = 1024 * 1024 * 1024
LOCK_PAUSE_S: Final = 0.05

Clock = Callable[[], int]


class Appended(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A record that was written. `is_clean`: the redactor of the log found no secret in it."""

    seq: int
    is_clean: bool


class SessionLog:
    """An open log. While it is open no other process can write it.

    A record is in the hands of the kernel when `append` returns, so killing this process loses nothing; `sync`
    is for a loss of power. `close` does not sync. Secrets that the redactor knows never reach the disk.
    """

    def __init__(
        self,
        descriptor: int,
        directory: Path,
        now_ms: Clock,
        loaded: Loaded,
        redactor: Redactor | None = None,
        *,
        head_file: Path | None = None,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        """`head_file`, outside the workspace, keeps the newest record that is on disk. `prepare` makes the place for
        session directories again if it was deleted.
        """
        self._prepare = prepare
        self._news: str | None = None
        self._redactor = redactor or Redactor()
        self._descriptor = descriptor
        self._directory = directory
        self._place = os.fsencode(directory.absolute()).decode("utf-8", "replace")
        self._now_ms = now_ms
        self._seq = loaded.last_seq
        self._head = loaded.head_hash
        self._last_ts = loaded.last_ts
        self._end = os.fstat(descriptor).st_size
        self._head_file = head_file
        self._durability = Durability(descriptor, directory / LOG_NAME, head_file, self._put_back)
        self._stopped: str | None = None
        self._most_output_bytes = DEFAULT_MOST_OUTPUT_BYTES
        self._contents = set(loaded.texts)

    @classmethod
    def create(
        cls,
        directory: Path,
        now_ms: Clock,
        redactor: Redactor | None = None,
        *,
        head_file: Path | None = None,
        prepare: Callable[[], object] | None = None,
    ) -> "SessionLog":
        """A new log in the session's own directory, which is made if need be, and must hold nothing else."""
        _make_private(directory)
        descriptor = _open_locked(directory / LOG_NAME, os.O_CREAT)
        if os.fstat(descriptor).st_size > 0 or any(path.name != LOG_NAME for path in directory.iterdir()):
            os.close(descriptor)
            raise LogExists(f"There is already a session in {directory}. It was left as it is. Choose another id.")
        log = cls(descriptor, directory, now_ms, Loaded(), redactor, head_file=head_file, prepare=prepare)
        log._durability.wrote_beside(directory)
        return log

    @classmethod
    def open(
        cls,
        directory: Path,
        now_ms: Clock,
        redactor: Redactor | None = None,
        *,
        head_file: Path | None = None,
        prepare: Callable[[], object] | None = None,
        read: Callable[[Path], Loaded] = load,
    ) -> "tuple[SessionLog, Loaded]":
        """Go on with a log. Damage at its end is put aside; what was loaded says so, and a record does.

        `read` reads the log, once nobody else can write it.
        """
        # A new log has nothing to repair.
        from robota.log.chain.repair import repair

        path = directory / LOG_NAME
        descriptor = _open_locked(path, 0)
        try:
            loaded = read(path)
            repaired = repair(descriptor, directory, loaded)
            log = cls(descriptor, directory, now_ms, loaded, redactor, head_file=head_file, prepare=prepare)
            if repaired is not None:
                log._durability.wrote_beside(directory)
                log.append(repaired)
        except LogError:
            os.close(descriptor)
            raise
        return log, loaded

    @property
    def path(self) -> Path:
        return self._directory / LOG_NAME

    @property
    def last_seq(self) -> int:
        return self._seq

    def next_ts(self) -> int:
        """A number that was never given before, close to the time; it grows even when the clock does not."""
        self._last_ts = max(self._now_ms(), self._last_ts + 1)
        return self._last_ts

    @property
    def redactor(self) -> Redactor:
        """What covers secrets in everything that is written."""
        return self._redactor

    def append(self, payload: Payload) -> "Appended":
        """Write one record. When it raises, the log is as it was before."""
        self._refuse_after_failure()
        seq = self._seq + 1
        plain = payload.to_json()
        data = self._redactor(plain)
        line, digest = seal(seq, self.next_ts(), kind_of(payload), data, self._head)
        try:
            _write_all(self._descriptor, line)
        except OSError as error:
            self._take_back_torn_line()
            raise self._write_error(error) from error
        self._seq, self._head, self._end = seq, digest, self._end + len(line)
        head = ChainHead(seq, digest, self._place)
        self._durability.wrote(head, self._end)
        if seq == 1 and self._head_file is not None:
            # A session that is killed before it was ever brought to disk is one of this machine, too.
            note_head(self._head_file, head)
        return Appended(seq=seq, is_clean=data is plain)

    async def sync(self) -> None:
        """Return when everything appended or kept before the call is on disk."""
        await self._durability.sync()
        self._refuse_after_failure()

    def sync_soon(self) -> None:
        """Start to bring it to disk and do not wait. A failure is raised by the next `append` or `sync`."""
        self._durability.sync_soon()

    def take_news(self) -> str | None:
        """What happened to the log that a person must know; told once."""
        news, self._news = self._news, None
        return news

    def keep(self, data: bytes) -> str:
        """Store something too big for a record; returns the name to put into one."""
        self._require_directory()
        name, is_new = keep_artifact(self._artifacts, self._redactor(data))
        if is_new:
            self._durability.wrote_beside(self._artifacts / name, self._artifacts, self._directory)
        return name

    def keep_text(self, text: str) -> str:
        """Put a text into the log once, however often it is kept; returns the hash by which records name it."""
        data = self._redactor(text.encode("utf-8", "replace"))
        name = artifact_name(data)
        if name not in self._contents:
            if len(data) > INLINE_TEXT_BYTES:
                self.keep(data)
                self.append(ContentRecord(hash=name))
            else:
                self.append(ContentRecord(hash=name, text=data.decode("utf-8", "replace")))
            self._contents.add(name)
        return name

    async def keep_file(self, path: Path) -> str:
        """The same for a file, which is moved; returns its name. A big one takes seconds, so others go on meanwhile."""
        self._require_directory()
        name, is_new = await asyncio.to_thread(self._cover_and_move, path)
        if is_new:
            self._make_room_for(name)
            self._durability.wrote_beside(self._artifacts / name, self._artifacts, self._directory)
        return name

    def on_growth(self, told: Callable[[], None]) -> None:
        """Call `told` each time the log has grown by some megabytes: in a thread, or when the log is closed."""
        self._durability.on_growth = told

    def limit_outputs(self, most_bytes: int) -> None:
        """How many bytes all files together may take that are kept from now on; the oldest go first."""
        self._most_output_bytes = most_bytes

    def artifact(self, name: str) -> bytes:
        return read_artifact(self._artifacts, name)

    def artifact_path(self, name: str) -> Path:
        return artifact_path(self._artifacts, name)

    def close(self) -> None:
        """Let other processes write the log. Closing twice does nothing."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        self._stopped = f"The session log {self.path} is closed. Nothing was written."
        self._durability.tell_growth()
        try:
            # An fsync in a thread may still hold a copy of the descriptor, and with it the lock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        finally:
            os.close(descriptor)

    @property
    def _artifacts(self) -> Path:
        return self._directory / ARTIFACTS_NAME

    def _make_room_for(self, name: str) -> None:
        # Only after long outputs.
        from robota.log.kept_outputs import KeptOutputs

        KeptOutputs(self._directory, self._artifacts, self._most_output_bytes).added(name)

    def _cover_and_move(self, path: Path) -> tuple[str, bool]:
        try:
            self._redactor.redact_file(path)
        except OSError as error:
            raise LogWriteError(
                f"Could not look through {path} for secrets: {error.strerror}. It was not kept; the log is untouched."
            ) from error
        return keep_artifact_file(self._artifacts, path)

    def _require_directory(self) -> None:
        """What is kept lies beside the log, which may have been deleted."""
        if self._directory.is_dir():
            return
        try:
            self._put_back()
        except OSError as error:
            raise self._write_error(error) from error

    def _put_back(self) -> None:
        """The log was deleted or replaced: put it where it was. Raises OSError."""
        if is_in_place(self._descriptor, self.path):
            return
        if self._prepare is not None:
            self._prepare()
        self._directory.mkdir(mode=0o700, exist_ok=True)
        put_back(self._descriptor, self.path)
        self._durability.wrote_beside(self._directory)
        self._news = (
            f"The session log {self.path} was deleted or replaced by another program. It was put back, with everything "
            "in it; outputs that were kept beside it are gone."
        )

    def _refuse_after_failure(self) -> None:
        if self._durability.failure is not None:
            raise LogWriteError(
                f"The session log {self.path} could not be brought to disk: {self._durability.failure.strerror}. "
                "Its newest records may not survive a loss of power. Check the disk, then start a new session."
            )
        if self._stopped is not None:
            raise LogWriteError(self._stopped)

    def _take_back_torn_line(self) -> None:
        """Half a line must not stand before good ones."""
        try:
            os.ftruncate(self._descriptor, self._end)
        except OSError as error:
            self._stopped = (
                f"The session log {self.path} ends in half a record that could not be removed: {error.strerror}. "
                "The records before it are safe. Check the disk, then start a new session."
            )

    def _write_error(self, error: OSError) -> LogWriteError:
        return LogWriteError(
            f"Could not write to the session log {self.path}: {error.strerror}. "
            "This step was not recorded; all earlier records are safe. "
            "Free some space or check the disk, then try again."
        )


def _write_all(descriptor: int, line: bytes) -> None:
    written = os.write(descriptor, line)
    while written < len(line):
        written += os.write(descriptor, line[written:])


def _make_private(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if directory.is_symlink():
            raise OSError(errno.ELOOP, "it is a symbolic link, which is not followed")
        directory.chmod(0o700)
    except OSError as error:
        raise LogWriteError(
            f"Cannot make the session directory {directory}: {error.strerror}. Nothing was started. "
            "Check that the directory above it is writable."
        ) from error


def _open_locked(path: Path, creation: int) -> int:
    """The log for appending, locked against every other writer. A symbolic link is not followed."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags | creation, 0o600)
    except OSError as error:
        raise _cannot_open(path, error.strerror or str(error)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _cannot_open(path, "it is not a regular file")
    try:
        _lock(descriptor)
    except BlockingIOError as error:
        os.close(descriptor)
        raise LogInUse(_in_use(path)) from error
    except OSError as error:
        os.close(descriptor)
        raise _cannot_open(path, f"it cannot be locked ({error.strerror})") from error
    return descriptor


def _in_use(path: Path) -> str:
    from robota.workspace.process.lock_holder import holder_of

    holder = holder_of(path)
    who = "another process" if holder is None else holder.text
    return (
        f"The session in {path.parent} is open in {who}. Nothing was changed. Watch it: robota sessions watch "
        f"{path.parent.name}. It can be taken up here when that process has ended."
    )


def _lock(descriptor: int) -> None:
    """Take the lock. A killed writer's half-started child may hold it for a moment longer, so we ask more than once."""
    for _ in range(LOCK_TRIES - 1):
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOCK_PAUSE_S)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _cannot_open(path: Path, reason: str) -> LogUnreadable:
    return LogUnreadable(
        f"Cannot open the session log {path}: {reason}. Nothing was changed. Check the path and its mode."
    )


def wall_clock_ms() -> int:
    """The `Clock` of a real session."""
    return time.time_ns() // 1_000_000
