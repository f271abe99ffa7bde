"""Restores a log file that was deleted or replaced while it was open, from the open descriptor."""

import fcntl
import os
from pathlib import Path
from typing import Final

CHUNK: Final = 1 << 20


def is_in_place(descriptor: int, path: Path) -> bool:
    """Whether `path` is still the open log."""
    opened = os.fstat(descriptor)
    try:
        there = path.stat(follow_symlinks=False)
    except OSError:
        return False
    return opened.st_nlink > 0 and (opened.st_dev, opened.st_ino) == (there.st_dev, there.st_ino)


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
        place = 0
        while piece := os.pread(descriptor, CHUNK, place):
            place += len(piece)
            while piece:
                piece = piece[os.write(new, piece) :]
        os.fsync(new)
        os.dup2(new, descriptor, inheritable=False)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(new)
