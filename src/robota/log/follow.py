"""Follows the records of a log that another process writes, until that process ends, without locking or changing it."""

import ctypes
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final

from robota.log.catalogue.live import is_held
from robota.log.chain.growth import GrownRecord, LogPosition, continues, records_since
from robota.log.errors import LogUnreadable

# Of inotify.
IN_MODIFY: Final = 0x2
IN_ATTRIB: Final = 0x4
IN_CLOSE_WRITE: Final = 0x8
IN_DELETE_SELF: Final = 0x400
IN_MOVE_SELF: Final = 0x800
WATCHED: Final = IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF
EVENT_BYTES: Final = 64 * 1024
LOOK_EVERY_S: Final = 0.5
LOOKED_AT: Final = "This system does not report file changes; the log is checked twice a second."
# Closing the file is reported shortly before the lock is released.
LOCK_TRIES: Final = 50
LOCK_PAUSE_S: Final = 0.02


def follow(log: Path, position: LogPosition, notify: Callable[[str], None]) -> Iterator[GrownRecord]:
    """The records after a position, then each new one. Ends when no process is writing the log any more.

    An unfinished line is not read until it is complete. Raises `LogUnreadable` if the log disappears.
    """
    with changes_of(log) as changes:
        if not changes.has_notifications:
            notify(LOOKED_AT)
        while True:
            is_written, size = is_held(log), _size(log)
            for grown in _new_records(log, position):
                position = grown.position
                yield grown
            if not is_written:
                return
            changes.wait()
            _let_a_leaving_writer_go(log, size)


def _new_records(log: Path, position: LogPosition) -> Iterator[GrownRecord]:
    if not continues(log, position):
        raise LogUnreadable(f"The log {log} was replaced by another one while it was watched. Watch it again.")
    try:
        yield from records_since(log, position)
    except OSError as error:
        raise LogUnreadable(f"The log {log} can no longer be read: {error.strerror}.") from error


def _let_a_leaving_writer_go(log: Path, size: int) -> None:
    """Wait a moment if the log did not grow: most likely its writer is closing it."""
    for _ in range(LOCK_TRIES):
        if _size(log) != size or not is_held(log):
            return
        time.sleep(LOCK_PAUSE_S)


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return -1


def changes_of(path: Path) -> "Inotify | Polling":
    """Watch a file with inotify, or else by polling twice a second."""
    if sys.platform == "linux":
        try:
            return Inotify(path)
        except (OSError, AttributeError):
            pass  # All watches are in use, or the file system does not support them.
    return Polling()


class Inotify:
    """Changes reported by Linux inotify."""

    has_notifications = True

    def __init__(self, path: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "no more files can be watched")
        if libc.inotify_add_watch(self._descriptor, os.fsencode(path), WATCHED) < 0:
            os.close(self._descriptor)
            raise OSError(ctypes.get_errno(), "the file cannot be watched")

    def wait(self) -> None:
        """Return when the file was written, closed, moved or deleted."""
        select.select([self._descriptor], [], [])
        try:
            os.read(self._descriptor, EVENT_BYTES)  # the content of the event is not needed
        except BlockingIOError:
            return

    def __enter__(self) -> "Inotify":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        os.close(self._descriptor)


class Polling:
    """Polling, for systems without notifications."""

    has_notifications = False

    def wait(self) -> None:
        """Return after the polling interval."""
        time.sleep(LOOK_EVERY_S)

    def __enter__(self) -> "Polling":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        return
