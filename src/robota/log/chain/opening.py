"""Opens a log file for writing: one process at a time, without following links."""

import errno
import fcntl
import os
import stat
import time
from pathlib import Path
from typing import Final

from robota.config.durable_file import make_private_directory
from robota.log.errors import LogInUse, LogUnreadable, LogWriteError

LOCK_TRIES: Final = 10
LOCK_PAUSE_S: Final = 0.05


def make_private(directory: Path) -> None:
    """Create a directory that only its owner can access. Raises `LogWriteError`."""
    try:
        make_private_directory(directory)
        if directory.is_symlink():
            raise OSError(errno.ELOOP, "it is a symbolic link, which is not followed")
        directory.chmod(0o700)
    except OSError as error:
        raise LogWriteError(
            f"Cannot make the session directory {directory}: {error.strerror}. Nothing was started. "
            "Check that the directory above it is writable."
        ) from error


def open_locked(path: Path, creation: int) -> int:
    """Open the log for appending, locked against other writers. A symbolic link is not followed."""
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
        f"{path.parent.name}. Answer and continue it there; it can be resumed here when that process has ended."
    )


def _lock(descriptor: int) -> None:
    """Take the lock, with retries: a half-started child of a killed writer may hold it for a moment longer."""
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
