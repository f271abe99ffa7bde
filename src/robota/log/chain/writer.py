"""The single writer of a session log: appends records, fsyncs them, stores artifacts."""

import asyncio
import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Final

import msgspec

from robota.log.artifacts import (
    SessionArtifacts,
    artifact_name,
    find_artifact,
    force_path_to_disk,
    read_artifact,
    short_name,
)
from robota.log.chain.head import ChainHead, note_head
from robota.log.chain.opening import is_in_place, make_private, open_locked, put_back, repair
from robota.log.chain.reader import LOG_NAME, LineSpan, Loaded, load
from robota.log.errors import LogError, LogExists, LogWriteError
from robota.log.kinds.requests import ContentRecord
from robota.log.record import Payload, kind_of, seal
from robota.secrets.redaction import Redactor

# A longer text would make the log slow to read; it becomes an artifact.
INLINE_TEXT_BYTES: Final = 64 * 1024
DEFAULT_MOST_OUTPUT_BYTES: Final = 1024 * 1024 * 1024

# After this much growth the snapshot of the log is renewed, because reading the rest takes noticeable time.
GROWTH_BYTES: Final = 2 * 1024 * 1024

Clock = Callable[[], int]


class LogCutError(OSError):
    """The file is shorter than what was written to it."""


class Appended(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A written record and its position. `is_clean`: the redactor found no secret in it."""

    seq: int
    lines: LineSpan
    is_clean: bool


class SessionLog:
    """An open log, locked against other writers.

    When `append` returns, the kernel has the record, so a killed process loses nothing; `sync` protects against a power
    failure. `close` does not sync. Secrets that the redactor knows never reach the disk.
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
        """`head_file`, outside the workspace, holds the hash of the newest record on disk. `prepare` creates the parent
        of session directories again if it was deleted.
        """
        self._prepare = prepare
        self._warning: str | None = None
        self._redactor = redactor or Redactor()
        self._descriptor = descriptor
        self._directory = directory
        self._real_parent = os.path.realpath(directory.parent)
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
        self._artifacts = SessionArtifacts(directory, self._redactor, self._wrote_artifact)
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
        """Create a log in the session's own directory, which is created if needed and must be empty."""
        make_private(directory)
        descriptor = open_locked(directory / LOG_NAME, os.O_CREAT)
        if os.fstat(descriptor).st_size > 0 or any(path.name != LOG_NAME for path in directory.iterdir()):
            os.close(descriptor)
            raise LogExists(f"There is already a session in {directory}. It was not changed. Choose another id.")
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
        """Open an existing log. Damage at its end is moved to another file, reported in `Loaded`, and recorded.

        `read` reads the log, once it is locked.
        """
        path = directory / LOG_NAME
        descriptor = open_locked(path, 0)
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
        """A new timestamp in milliseconds. It increases strictly, even when the clock does not."""
        self._last_ts = max(self._now_ms(), self._last_ts + 1)
        return self._last_ts

    @property
    def redactor(self) -> Redactor:
        """Masks secrets in everything that is written."""
        return self._redactor

    def append(self, payload: Payload) -> "Appended":
        """Write one record. If this raises, the log is unchanged."""
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
            # Noted immediately, so that a session killed before its first sync still belongs to this machine.
            note_head(self._head_file, head)
        return Appended(seq=seq, lines=LineSpan(self._end - len(line), self._end), is_clean=data is plain)

    async def sync(self) -> None:
        """Return when everything appended or stored before the call is on disk."""
        await self._durability.sync()
        self._refuse_after_failure()

    def sync_soon(self) -> None:
        """Start a sync and do not wait. A failure is raised by the next `append` or `sync`."""
        self._durability.sync_soon()

    def take_warning(self) -> str | None:
        """A warning for the user about what happened to the log, returned once."""
        warning, self._warning = self._warning, None
        return warning

    def keep(self, data: bytes) -> str:
        """Store data that is too big for a record as an artifact; returns its name."""
        self._require_directory()
        return self._artifacts.keep(data)

    def keep_for_model(self, data: bytes) -> str:
        """Like `keep`; returns the short name."""
        return self.short_name(self.keep(data))

    def keep_text(self, text: str) -> str:
        """Store a text in the log, once, however often this is called; returns the hash by which records name it."""
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
        """Move a file to the artifacts; returns its name."""
        self._require_directory()
        name, is_new = await self._artifacts.keep_file(path)
        if is_new:
            # Imported here because only long outputs are stored as files.
            from robota.log.output_limit import OutputLimit

            OutputLimit(self._directory, self._artifacts.directory, self._most_output_bytes).added(name)
        return name

    def on_growth(self, callback: Callable[[], None]) -> None:
        """Call `callback` each time the log has grown by some megabytes: in a thread, or when the log is closed."""
        self._durability.on_growth = callback

    def limit_outputs(self, most_bytes: int) -> None:
        """Limit the bytes of all files stored from now on; the oldest are removed first."""
        self._most_output_bytes = most_bytes

    def artifact(self, name: str) -> bytes:
        return read_artifact(self._artifacts.directory, name)

    def find_artifact(self, name: str) -> Path:
        return find_artifact(self._artifacts.directory, name)

    def short_name(self, name: str) -> str:
        return short_name(self._artifacts.directory, name)

    @property
    def is_closed(self) -> bool:
        """Whether the log has been closed."""
        return self._descriptor < 0

    def close(self) -> None:
        """Close and unlock the log. Closing twice does nothing."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        self._stopped = f"The session log {self.path} is closed. Nothing was written."
        self._durability.close()
        try:
            # An fsync in a thread may still hold a copy of the descriptor, and with it the lock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        finally:
            os.close(descriptor)

    def _wrote_artifact(self, path: Path) -> None:
        self._durability.wrote_beside(path, path.parent, self._directory)

    def _require_directory(self) -> None:
        """Restore the session directory for an artifact, if it was deleted."""
        try:
            self._refuse_links()
            if not self._directory.is_dir():
                self._put_back()
        except OSError as error:
            raise self._write_error(error) from error

    def _put_back(self) -> None:
        """Restore the log file if it was deleted or replaced. Raises OSError."""
        if is_in_place(self._descriptor, self.path):
            return
        self._refuse_links()
        if self._prepare is not None:
            self._prepare()
        self._directory.mkdir(mode=0o700, exist_ok=True)
        put_back(self._descriptor, self.path)
        self._durability.wrote_beside(self._directory)
        self._warning = (
            f"The session log {self.path} was deleted or replaced by another program. It was restored completely; "
            "outputs that were saved beside it are lost."
        )

    def _refuse_links(self) -> None:
        """Refuse to write through a link that another program has put in place of a parent directory."""
        if os.path.realpath(self._directory.parent) != self._real_parent or self._directory.is_symlink():
            raise OSError(errno.ELOOP, "a link that leads to another place was put in its way")

    def _refuse_after_failure(self) -> None:
        if isinstance(self._durability.failure, LogCutError):
            raise LogWriteError(
                f"Another program has truncated the session log {self.path}, so records of this session are lost. "
                "Nothing more is changed. Start a new session; robota sessions verify shows what is missing."
            )
        if self._durability.failure is not None:
            raise LogWriteError(
                f"The session log {self.path} could not be flushed to disk: {self._durability.failure.strerror}. "
                "Its newest records may not survive a loss of power. Check the disk, then start a new session."
            )
        if self._stopped is not None:
            raise LogWriteError(self._stopped)

    def _take_back_torn_line(self) -> None:
        """Remove a partly written line, so that the next record does not follow it."""
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


def wall_clock_ms() -> int:
    """The `Clock` of a real session."""
    return time.time_ns() // 1_000_000


class Durability:
    """Tracks what was written to the log and what is definitely on disk."""

    def __init__(self, descriptor: int, path: Path, head_file: Path | None, put_back: Callable[[], None]) -> None:
        """`put_back` is called when `path` is not the open file any more; it may raise OSError."""
        self._descriptor = descriptor
        self._path = path
        self._head_file = head_file
        self._put_back = put_back
        self.on_growth: Callable[[], None] | None = None
        self._head: ChainHead | None = None
        self._length = os.fstat(descriptor).st_size
        self._reported_length = self._length
        self._written = 0
        self._safe = 0
        self._beside: set[Path] = set()
        self._flush: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._thread = FlushThread()
        # Final: the kernel may forget unwritten pages once it has reported them, so a second fsync proves nothing.
        self.failure: OSError | None = None

    def wrote(self, head: ChainHead, length: int) -> None:
        """A record was written to the descriptor, which now has this length."""
        self._written += 1
        self._head = head
        self._length = length

    def wrote_beside(self, *paths: Path) -> None:
        """The next sync must include these other files or directories."""
        self._beside.update(paths)
        self._written += 1

    async def sync(self) -> None:
        """Return when everything written before the call is on disk, or `failure` says why not."""
        target = self._written
        while self._safe < target and self.failure is None:
            if self._flush is None:
                self._flush = asyncio.create_task(self._flush_now())
            # A caller that is cancelled must not take the others' fsync with it.
            await asyncio.shield(self._flush)

    def sync_soon(self) -> None:
        """Sync in the background."""
        task = asyncio.create_task(self.sync())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def close(self) -> None:
        """Stop accepting writes. A running flush continues."""
        self._descriptor = -1  # its number may soon be that of another file
        self._thread.end()
        callback = self._growth_callback()
        if callback is not None:
            callback()

    async def _flush_now(self) -> None:
        covered = self._written
        beside, self._beside = self._beside, set()
        flush = _Flush(path=self._path, length=self._length, beside=beside, head=self._head, head_file=self._head_file)
        try:
            # A copy of the descriptor lets the log be closed while the thread still runs.
            if not await self._thread.do(partial(_force_to_disk, os.dup(self._descriptor), flush)):
                self._put_back()
            self._safe = covered
            self._report_growth()
        except OSError as error:
            self.failure = error
        finally:
            self._flush = None

    def _growth_callback(self) -> Callable[[], None] | None:
        """The growth callback, if the file has grown enough since it was last called."""
        if self.on_growth is None or self._length - self._reported_length < GROWTH_BYTES:
            return None
        self._reported_length = self._length
        return self.on_growth

    def _report_growth(self) -> None:
        """Call the growth callback in a thread, because it may take long."""
        callback = self._growth_callback()
        if callback is not None:
            threading.Thread(target=callback, name="log-growth", daemon=True).start()


class FlushThread:
    """Runs jobs one after another in a daemon thread, which starts with the first job.

    Unlike a thread of the pool, it does not delay the exit of the process. It is reused, because starting a thread for
    each turn costs more than writing the turn's records.
    """

    def __init__(self) -> None:
        self._pieces: SimpleQueue[Callable[[], None] | None] | None = None

    def do(self, work: Callable[[], bool]) -> "asyncio.Future[bool]":
        """Run `work` in the thread; the future has its result or its OSError."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[bool] = loop.create_future()

        def settle(result: bool, error: OSError | None) -> None:
            if done.done():
                return
            if error is None:
                done.set_result(result)
            else:
                done.set_exception(error)

        def run() -> None:
            try:
                result, failed = work(), None
            except OSError as error:
                result, failed = False, error
            with suppress(RuntimeError):  # the loop has ended, and no caller is waiting any more
                loop.call_soon_threadsafe(settle, result, failed)

        if self._pieces is None:
            self._pieces = SimpleQueue()
            threading.Thread(target=_do_pieces, args=(self._pieces,), name="log-flush", daemon=True).start()
        self._pieces.put(run)
        return done

    def end(self) -> None:
        """End the thread after the jobs it has."""
        pieces, self._pieces = self._pieces, None
        if pieces is not None:
            pieces.put(None)


def _do_pieces(pieces: "SimpleQueue[Callable[[], None] | None]") -> None:
    while (piece := pieces.get()) is not None:
        piece()


class _Flush(msgspec.Struct, frozen=True, kw_only=True):
    """What one flush brings to disk. `length` is the least length of the log."""

    path: Path
    length: int
    beside: set[Path]
    head: ChainHead | None
    head_file: Path | None


def _force_to_disk(descriptor: int, flush: _Flush) -> bool:
    """Fsync the log; False if `path` is another file now. Raises OSError, also if the log was truncated."""
    try:
        if not is_in_place(descriptor, flush.path):
            return False
        for path in flush.beside:
            force_path_to_disk(path)
        os.fsync(descriptor)
        if os.fstat(descriptor).st_size < flush.length:
            raise LogCutError(errno.EIO, "another program has cut it")
    finally:
        os.close(descriptor)
    if flush.head is not None and flush.head_file is not None:
        note_head(flush.head_file, flush.head)
    return True
