"""Waits until a file changes, with inotify or else by polling."""

import ctypes
import os
import select
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final

IN_MODIFY: Final = 0x2
IN_ATTRIB: Final = 0x4
IN_CLOSE_WRITE: Final = 0x8
IN_DELETE_SELF: Final = 0x400
IN_MOVE_SELF: Final = 0x800
WATCHED: Final = IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF
EVENT_BYTES: Final = 64 * 1024
LOOK_EVERY_S: Final = 0.5


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
