"""The sockets of running sessions, called doors. All are in one private directory."""

import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

DIRECTORY: Final = "run"
SUFFIX: Final = ".sock"
SUCCESSOR: Final = ".next"


@contextmanager
def short_path(directory: Path, name: str, *, alone: bool = False) -> Iterator[str]:
    """A path to the socket that is short enough for the kernel, however long the path of the directory is.

    Only one process at a time is `alone` in a directory. Raises `OSError`, also if the directory is not private.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise PermissionError(1, "other users can access it", str(directory))
        if alone:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)


def door_ids(directory: Path) -> list[str]:
    """The ids of the sessions that have a door. Some may not be running any more."""
    try:
        return sorted(path.name.removesuffix(SUFFIX) for path in directory.iterdir() if path.name.endswith(SUFFIX))
    except OSError:
        return []


def remove_dead_door(directory: Path, session_id: str) -> None:
    """Remove a door at which nobody listens, unless another process opens it again just now."""
    with (
        suppress(OSError),
        short_path(directory, session_id + SUFFIX, alone=True) as path,
        socket.socket(socket.AF_UNIX) as knocking,
    ):
        knocking.setblocking(False)
        try:
            knocking.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)  # noqa: PTH108 - not the path of a file, but a way to it


def announce_successor(directory: Path, session_id: str) -> None:
    """Say that the session, which closes now, is opened again at once: its windows wait for that."""
    with suppress(OSError):
        (directory / (session_id + SUCCESSOR)).touch(0o600)


def has_successor(directory: Path, session_id: str) -> bool:
    """Whether that was said, and the session is not open again yet."""
    return (directory / (session_id + SUCCESSOR)).exists()


def forget_successor(directory: Path, session_id: str) -> None:
    """The session is open again, or could not be opened."""
    with suppress(OSError):
        (directory / (session_id + SUCCESSOR)).unlink(missing_ok=True)
