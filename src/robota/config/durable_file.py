"""Writing a file of the person: all or nothing, one writer at a time, nobody else reads."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PRIVATE: Final = 0o600
PRIVATE_DIRECTORY: Final = 0o700


def replace_file(target: Path, data: bytes, *, mode: int = PRIVATE) -> None:
    """A reader sees the old file or the new one, also after a power cut."""
    draft = target.with_name(f".{target.name}.{os.getpid()}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def keep_backup(target: Path) -> Path | None:
    """A copy of what is there now, beside it; None if nothing is."""
    backup = target.with_name(target.name + ".bak")
    try:
        replace_file(backup, target.read_bytes())
    except FileNotFoundError:
        return None
    return backup


@contextlib.contextmanager
def only_writer(directory: Path) -> Iterator[None]:
    """Two processes that write at the same time must not lose one another's change. Makes the directory."""
    directory.mkdir(parents=True, exist_ok=True, mode=PRIVATE_DIRECTORY)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
