"""Opens a log for writing, by one process at a time, repairs a damaged end, and puts back a log that was deleted."""

import errno
import fcntl
import os
import stat
import time
from pathlib import Path
from typing import Final

from robota.config.durable_file import make_private_directory
from robota.log.artifacts import artifact_name, force_path_to_disk, write_whole
from robota.log.chain.reader import Loaded
from robota.log.errors import LogInUse, LogUnreadable, LogWriteError
from robota.log.kinds.session import RepairRecord

COPIED_AT_ONCE: Final = 1 << 20
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
        f"The session in {path.parent} is open in {who}. Nothing was changed. To open a window on it: robota attach "
        f"{path.parent.name}. Otherwise it can be resumed here when that process has ended."
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


def repair(descriptor: int, directory: Path, loaded: Loaded) -> RepairRecord | None:
    """Truncate the file after its last valid record. Returns the record to log about it, if any.

    Damage in the middle is kept: loading skips it each time, and `verify` reports it.
    """
    try:
        if loaded.length > loaded.good_length:
            return _put_tail_aside(descriptor, directory, loaded)
        if not loaded.is_terminated:
            os.write(descriptor, b"\n")
            return _terminated(loaded)
    except OSError as error:
        raise LogWriteError(
            f"The end of the session log in {directory} is damaged and could not be repaired: {error.strerror}. "
            "The log was not changed. Free some disk space or check the directory, then try again."
        ) from error
    return None


def _put_tail_aside(descriptor: int, directory: Path, loaded: Loaded) -> RepairRecord:
    tail = os.pread(descriptor, loaded.length - loaded.good_length, loaded.good_length)
    path = _path_for(directory, loaded.last_seq + 1, tail)
    write_whole(path, tail)
    force_path_to_disk(path)
    os.ftruncate(descriptor, loaded.good_length)
    first = next(problem for problem in loaded.problems if problem.line > loaded.good_line)
    return RepairRecord(line=first.line, reason=first.flaw, removed_bytes=len(tail), saved_as=path.name)


def _path_for(directory: Path, seq: int, tail: bytes) -> Path:
    """`torn-<seq>`, or a unique name if an earlier repair has saved other bytes there."""
    path = directory / f"torn-{seq}"
    if path.exists() and path.read_bytes() != tail:
        return directory / f"torn-{seq}-{artifact_name(tail)}"
    return path


def _terminated(loaded: Loaded) -> RepairRecord:
    return RepairRecord(line=loaded.good_line, reason="the last record had no newline", removed_bytes=0)


def is_in_place(descriptor: int, path: Path) -> bool:
    """Whether `path` is still the open log."""
    opened = os.fstat(descriptor)
    try:
        present = path.stat(follow_symlinks=False)
    except OSError:
        return False
    return opened.st_nlink > 0 and (opened.st_dev, opened.st_ino) == (present.st_dev, present.st_ino)


def put_back(descriptor: int, path: Path) -> None:
    """Write the log to its path again, locked, and point `descriptor` to the new file. Raises OSError.

    Another file that has taken its name is renamed, not overwritten.
    """
    if os.path.lexists(path):
        path.rename(path.with_name(f"{path.name}.foreign-{os.urandom(4).hex()}"))
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    new = os.open(path, flags, 0o600)
    try:
        fcntl.flock(new, fcntl.LOCK_EX | fcntl.LOCK_NB)
        offset = 0
        while piece := os.pread(descriptor, COPIED_AT_ONCE, offset):
            offset += len(piece)
            while piece:
                piece = piece[os.write(new, piece) :]
        os.fsync(new)
        os.dup2(new, descriptor, inheritable=False)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(new)
