"""Copies of git data left by a killed Robota: the command's results are written back, so that no stash is lost."""

import fcntl
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.files.remove_tree import remove_tree
from robota.workspace.git.git_directories import GitDirectories
from robota.workspace.git.write_back import CopiedDirectory, write_back

PREFIX: Final = "robota-git-"
STATE: Final = "state.json"


class CopyState(msgspec.Struct, frozen=True, kw_only=True):
    """What is needed to write a copy back. `copied` is that of the working tree, then that of the repository."""

    directories: GitDirectories
    copied: tuple[CopiedDirectory, ...]

    def take_over(self) -> tuple[str, ...]:
        """Write the copy back; returns a sentence for each thing that was not."""
        return write_back(self.directories.top, own=self.copied[0], common=self.copied[-1])


def lock_copy(place: Path) -> int | None:
    """A descriptor that marks the copy as in use while it is open; None if another process has it."""
    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def take_over_abandoned(directories: GitDirectories) -> None:
    """Write back and remove the copies of this repository that no process holds any more."""
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            # Only we can write to a directory that we own, and commands do not see this one.
            if entry.name.startswith(PREFIX) and entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                with suppress(OSError, msgspec.DecodeError):
                    _take_over(Path(entry.path), directories)


def _take_over(place: Path, directories: GitDirectories) -> None:
    lock = lock_copy(place)
    if lock is None:
        return
    try:
        state = msgspec.json.decode((place / STATE).read_bytes(), type=CopyState, dec_hook=_path)
        if state.directories == directories:
            state.take_over()
            remove_tree(place)
    finally:
        os.close(lock)


def encoded(state: CopyState) -> bytes:
    """The state as it is kept beside the copy."""
    return msgspec.json.encode(state, enc_hook=str)


def _path(kind: type, value: object) -> Path:
    return Path(str(value))
