"""The private directory that commands of a session see as /tmp; removed with the session."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

PREFIX: Final = "robota-tmp-"
# Whoever makes one needs a moment until it is locked.
YOUNG_S: Final = 60.0


class PrivateTmp:
    """Exists until `remove`. A lock marks it as in use; the next session removes what a killed one left."""

    def __init__(self) -> None:
        # At the start of a session only `remove_abandoned` runs, and hardly ever finds one.
        import tempfile

        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = _locked(self.path)
        remove_abandoned(self.path.parent)

    def remove(self) -> None:
        """Doing it twice does nothing."""
        _remove(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned(parent: Path) -> None:
    """Remove those that no living session holds."""
    with suppress(OSError):
        for abandoned in _abandoned(parent):
            _remove(abandoned)


def _remove(directory: Path) -> None:
    from robota.workspace.files.remove_tree import remove_tree

    remove_tree(directory)


def _abandoned(parent: Path) -> Iterator[Path]:
    """Of this user, not young, and held by nobody."""
    with os.scandir(parent) as entries:
        ours = [entry for entry in entries if entry.name.startswith(PREFIX) and _is_old_and_own(entry)]
    for entry in ours:
        lock = _locked(Path(entry.path))
        if lock is not None:
            os.close(lock)
            yield Path(entry.path)


def _is_old_and_own(entry: "os.DirEntry[str]") -> bool:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    is_own = entry.is_dir(follow_symlinks=False) and status.st_uid == os.geteuid()
    return is_own and time.time() - status.st_mtime > YOUNG_S


def _locked(directory: Path) -> int | None:
    """A descriptor with a lock; None if somebody else has it, or locks do not work here."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
