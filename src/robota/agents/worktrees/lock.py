"""One session a worktree: a lock that ends with the process that holds it, however that ends."""

import fcntl
import os
from pathlib import Path
from typing import Final

import msgspec

from robota.agents.worktrees.problems import WorktreeError

LOOK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class WorktreeLock(msgspec.Struct, frozen=True, kw_only=True):
    file: Path
    descriptor: int

    def release(self, *, for_good: bool = False) -> None:
        """Let others in. `for_good`: the worktree is gone, and so is its lock."""
        if for_good:
            self.file.unlink(missing_ok=True)
        os.close(self.descriptor)


def take_lock(directory: Path, name: str) -> WorktreeLock | None:
    """The lock of a worktree, or None if somebody else has it. Raises `WorktreeError` if there cannot be one."""
    file = _file(directory, name)
    while True:
        try:
            descriptor = os.open(file, LOOK | os.O_CREAT, 0o600)
        except OSError as error:
            raise WorktreeError(f"{file} cannot be used: {error.strerror}. Nothing was changed.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still(descriptor, file):
                return WorktreeLock(file=file, descriptor=descriptor)
        except BlockingIOError:
            os.close(descriptor)
            return None
        os.close(descriptor)  # Whoever had it removed it; the next one is ours.


def is_locked(directory: Path, name: str) -> bool:
    """Whether somebody has the lock now."""
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
