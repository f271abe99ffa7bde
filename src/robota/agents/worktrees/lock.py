"""A lock, so that only one session uses a worktree. It is released when its process ends, even if killed."""

import fcntl
import os
import stat
from pathlib import Path
from typing import Final

import msgspec

from robota.agents.worktrees.errors import WorktreeError

LOOK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
TAKE: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
UNFINISHED: Final = b"The worktree is being made or removed.\n"


class WorktreeLock(msgspec.Struct, frozen=True, kw_only=True):
    """The lock of one worktree. The content of its file outlives the process that held it."""

    file: Path
    descriptor: int

    @property
    def is_unfinished(self) -> bool:
        """Whether creating or removing the worktree was interrupted."""
        return os.fstat(self.descriptor).st_size > 0

    def begin(self) -> None:
        """Mark the worktree as unfinished until `finish`. Raises `OSError` if that cannot be written."""
        os.pwrite(self.descriptor, UNFINISHED, 0)

    def finish(self) -> None:
        os.ftruncate(self.descriptor, 0)

    def release(self, *, for_good: bool = False) -> None:
        """Release the lock. `for_good`: remove its file too, because the worktree is gone."""
        if for_good:
            self.file.unlink(missing_ok=True)
        os.close(self.descriptor)


def take_lock(directory: Path, name: str) -> WorktreeLock | None:
    """The lock of a worktree; None if another process holds it. Raises `WorktreeError` if it cannot be created."""
    file = _file(directory, name)
    while True:
        try:
            descriptor = os.open(file, TAKE, 0o600)
        except OSError as error:
            raise WorktreeError(f"{file} cannot be used: {error.strerror}. Nothing was changed.") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise WorktreeError(f"{file} cannot be used: it is not a plain file. Nothing was changed.")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still(descriptor, file):
                return WorktreeLock(file=file, descriptor=descriptor)
        except BlockingIOError:
            os.close(descriptor)
            return None
        os.close(descriptor)  # The previous holder removed the file, so lock the new one.


def is_locked(directory: Path, name: str) -> bool:
    """Whether a process holds the lock now."""
    try:
        descriptor = os.open(_file(directory, name), LOOK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _file(directory: Path, name: str) -> Path:
    return directory / f".{name}.lock"


def _is_still(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.lstat())
    except FileNotFoundError:
        return False
