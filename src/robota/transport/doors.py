"""The sockets of running sessions, called doors. All are in one private directory."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

DIRECTORY: Final = "run"
SUFFIX: Final = ".sock"
SUCCESSOR: Final = ".next"


@contextmanager
def short_path(directory: Path, name: str) -> Iterator[str]:
    """A path to the socket that is short enough for the kernel, however long the path of the directory is.

    Raises `OSError`, also if the directory is not private.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise PermissionError(1, "other users can access it", str(directory))
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)


def door_ids(directory: Path) -> list[str]:
    """The ids of the sessions that have a door. Some may not be running any more."""
    try:
        return sorted(path.name.removesuffix(SUFFIX) for path in directory.iterdir() if path.name.endswith(SUFFIX))
    except OSError:
        return []


def remove_door(directory: Path, session_id: str) -> None:
    """Remove the door of a session."""
    (directory / (session_id + SUFFIX)).unlink(missing_ok=True)


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
