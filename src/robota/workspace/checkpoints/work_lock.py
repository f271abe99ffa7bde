"""The lock between calls and restores: calls share it while they may change files, a restore needs it exclusively."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Final

from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.store_directory import make_private
from robota.workspace.process.lock_holder import holder_of

AT_WORK_NAME: Final = "at-work"
UNAPPROVED_NAME: Final = "unapproved"
PAUSE_S: Final = 0.01
MAX_PAUSES: Final = 2_000


def lock_for_change(store: Path) -> FileIO | None:
    """Lock for a call that may change files, until the file is closed. Waits some seconds for a running restore.

    None where there cannot be a store, so that nothing can be restored.
    """
    try:
        descriptor = _opened(store, AT_WORK_NAME)
    except (OSError, CheckpointError):
        return None
    for _ in range(MAX_PAUSES):
        if _try_lock(descriptor, fcntl.LOCK_SH):
            break
        time.sleep(PAUSE_S)
    return FileIO(descriptor, "r+")


@contextmanager
def lock_for_restore(store: Path) -> Iterator[None]:
    """Keep calls from changing files. Raises `CheckpointError` if one is changing files now, and says whose it is."""
    descriptor = _opened(store, AT_WORK_NAME)
    try:
        if not _try_lock(descriptor, fcntl.LOCK_EX):
            holder = holder_of(store / AT_WORK_NAME, is_shared=True)
            who = "another process" if holder is None else holder.text
            raise CheckpointError(
                f"A tool call is running in this workspace and may change files: {who}. Nothing was restored; wait "
                "until it has ended, or stop it, and try again"
            )
        yield
    finally:
        os.close(descriptor)


def lock_for_unapproved(store: Path) -> FileIO | None:
    """Lock for a command that nobody approved, until the file is closed; None while another one holds it.

    What one has left behind and is not taken out yet must not count as the state before another. Raises
    `CheckpointError`.
    """
    try:
        descriptor = _opened(store, UNAPPROVED_NAME)
    except OSError as error:
        raise CheckpointError(f"{error.filename}: {error.strerror}. Nothing was changed") from error
    if _try_lock(descriptor, fcntl.LOCK_EX):
        return FileIO(descriptor, "r+")
    os.close(descriptor)
    return None


def _opened(store: Path, name: str) -> int:
    make_private(store)
    return os.open(store / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _try_lock(descriptor: int, kind: int) -> bool:
    """Take the lock if it is free; returns whether that succeeded."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True
