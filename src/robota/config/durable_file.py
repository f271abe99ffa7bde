"""Private files of the user: non-blocking reads, directories, and the lock of a directory."""

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PRIVATE: Final = 0o600
PRIVATE_DIRECTORY: Final = 0o700
DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
MAX_READ_BYTES: Final = 32 * 1024 * 1024
MAX_LOCK_WAIT_S: Final = 10.0
PAUSE_S: Final = 0.002


def read_file(path: Path, *, follow: bool = True, most: int = MAX_READ_BYTES) -> bytes:
    """The content of a regular file. Anything else raises `OSError`: a pipe could block, a device may never end.

    `follow`: whether a symbolic link is followed. More than `most` bytes are refused.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        if status.st_size > most:
            raise OSError(errno.EFBIG, "it is too long", str(path))
        return file.read()


def make_private_directory(directory: Path) -> None:
    """Create a directory and its parents if they are missing, readable only by their owner.

    `mkdir(parents=True)` applies its mode only to the last one, so `~/.robota` itself would be readable by everyone.
    """
    if not directory.parent.is_dir():
        make_private_directory(directory.parent)
    directory.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)


def has_entries(parent: Path) -> bool:
    """Whether the directory exists and is not empty."""
    try:
        with os.scandir(parent) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


@contextlib.contextmanager
def directory_inside(root: Path, relative: Path, *, make: bool = True) -> Iterator[Path]:
    """A directory of a workspace, created if it is missing, as a path that stays valid even if it is renamed.

    A link in the path, which may come from a repository, raises `OSError`; so does a directory that stays missing.
    """
    descriptor = os.open(root, DIRECTORY)
    try:
        for name in relative.parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, PRIVATE_DIRECTORY, dir_fd=descriptor)
            deeper = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
        by_descriptor = Path(f"/proc/self/fd/{descriptor}")
        yield by_descriptor if by_descriptor.exists() else root / relative
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def only_writer(directory: Path, *, make: bool = True) -> Iterator[None]:
    """Hold the lock of a directory, created if it is missing. Files in it are changed with `transaction`."""
    if make:
        make_private_directory(directory)
    descriptor = os.open(directory, DIRECTORY)
    try:
        lock_in_time(descriptor)
        yield
    finally:
        os.close(descriptor)


def lock_in_time(descriptor: int) -> None:
    """Lock an open file or directory exclusively. `BlockingIOError` if another process holds the lock for too long.

    Anyone who can read a file can lock it, even a command in the sandbox, so the wait is limited.
    """
    deadline = time.monotonic() + MAX_LOCK_WAIT_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise BlockingIOError(
                    error.errno, f"another program has locked it for {MAX_LOCK_WAIT_S:g} s"
                ) from error
            time.sleep(PAUSE_S)
