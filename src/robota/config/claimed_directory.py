"""Temporary directories that are locked while in use, so that those of killed processes can be recognised."""

import fcntl
import os
import shutil
from contextlib import suppress
from pathlib import Path

import msgspec

from robota.config.durable_file import DIRECTORY, make_private_directory


class ClaimedDirectory(msgspec.Struct, frozen=True):
    """A directory, and the descriptor that holds its lock."""

    path: Path
    lock: int

    def remove(self) -> None:
        """Remove the directory, unless it was renamed, and end the claim."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


def claim_directory(parent: Path) -> ClaimedDirectory:
    """A new directory below `parent`. The caller holds a lock, so no process sees it before it is claimed."""
    make_private_directory(parent)
    remove_unclaimed(parent)
    path = parent / os.urandom(8).hex()
    path.mkdir(mode=0o700)
    lock = os.open(path, DIRECTORY | os.O_NOFOLLOW)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return ClaimedDirectory(path, lock)


def remove_unclaimed(parent: Path) -> None:
    """Remove the directories of dead processes. The caller holds the lock under which directories are claimed."""
    with os.scandir(parent) as entries:
        paths = [entry.path for entry in entries]
    for path in paths:
        with suppress(OSError):
            lock = os.open(path, DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
