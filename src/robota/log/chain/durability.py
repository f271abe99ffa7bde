"""When what was written to a log is on the disk, also after a loss of power."""

import asyncio
import errno
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from robota.log.artifacts import force_path_to_disk
from robota.log.chain.head import ChainHead, note_head

# From so much on it takes noticeable time to read a log; whoever keeps a shorter way to its end is told.
GROWTH_BYTES: Final = 2 * 1024 * 1024


class Durability:
    """Counts what was written to a descriptor and what is known to be on disk, in the file of that name."""

    def __init__(self, descriptor: int, path: Path, head_file: Path | None, put_back: Callable[[], None]) -> None:
        """`put_back` is called when the file of that name is not the open one any more; it may raise OSError."""
        self._descriptor = descriptor
        self._path = path
        self._head_file = head_file
        self._put_back = put_back
        self.on_growth: Callable[[], None] | None = None
        self._head: ChainHead | None = None
        self._length = os.fstat(descriptor).st_size
        self._told_length = self._length
        self._written = 0
        self._safe = 0
        self._beside: set[Path] = set()
        self._flush: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[None]] = set()
        # Final: the kernel may forget unwritten pages once it has reported them, so a second fsync proves nothing.
        self.failure: OSError | None = None

    def wrote(self, head: ChainHead, length: int) -> None:
        """A record was written to the descriptor, which now has this length."""
        self._written += 1
        self._head = head
        self._length = length

    def wrote_beside(self, *paths: Path) -> None:
        """Other files or directories belong to what must be safe."""
        self._beside.update(paths)
        self._written += 1

    async def sync(self) -> None:
        """Return when everything written before the call is on disk, or `failure` says why not."""
        wanted = self._written
        while self._safe < wanted and self.failure is None:
            if self._flush is None:
                self._flush = asyncio.create_task(self._flush_now())
            # A caller that is cancelled must not take the others' fsync with it.
            await asyncio.shield(self._flush)

    def sync_soon(self) -> None:
        """The same without waiting."""
        task = asyncio.create_task(self.sync())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def tell_growth(self) -> None:
        """Let the one who wants to know it know that the file has grown, if it has by enough."""
        if self.on_growth is not None and self._length - self._told_length >= GROWTH_BYTES:
            self._told_length = self._length
            self.on_growth()

    async def _flush_now(self) -> None:
        covered = self._written
        beside, self._beside = self._beside, set()
        flush = _Flush(path=self._path, length=self._length, beside=beside, head=self._head, head_file=self._head_file)
        try:
            # A copy of the descriptor lets the log be closed while the thread still runs.
            if not await _in_daemon_thread(partial(_force_to_disk, os.dup(self._descriptor), flush), self.tell_growth):
                self._put_back()
            self._safe = covered
        except OSError as error:
            self.failure = error
        finally:
            self._flush = None


def is_in_place(descriptor: int, path: Path) -> bool:
    """Whether the open log is the file of that name."""
    opened = os.fstat(descriptor)
    try:
        there = path.stat(follow_symlinks=False)
    except OSError:
        return False
    return opened.st_nlink > 0 and (opened.st_dev, opened.st_ino) == (there.st_dev, there.st_ino)


def _in_daemon_thread(work: Callable[[], bool], afterwards: Callable[[], None]) -> "asyncio.Future[bool]":
    """What `work` returns. Unlike a thread of the pool, this one is not waited for when the process wants to end."""
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
        with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
            loop.call_soon_threadsafe(settle, result, failed)
        afterwards()

    threading.Thread(target=run, name="log-flush", daemon=True).start()
    return done


class _Flush(msgspec.Struct, frozen=True, kw_only=True):
    """What one thread brings to the disk. `length` is how long the log was at least."""

    path: Path
    length: int
    beside: set[Path]
    head: ChainHead | None
    head_file: Path | None


def _force_to_disk(descriptor: int, flush: _Flush) -> bool:
    """Whether what is on the disk now is the file of that name. Raises OSError also if others have cut it."""
    try:
        if not is_in_place(descriptor, flush.path):
            return False
        for path in flush.beside:
            force_path_to_disk(path)
        os.fsync(descriptor)
        if os.fstat(descriptor).st_size < flush.length:
            raise OSError(errno.EIO, "another program has cut it")
    finally:
        os.close(descriptor)
    if flush.head is not None and flush.head_file is not None:
        note_head(flush.head_file, flush.head)
    return True
