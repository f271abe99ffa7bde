"""The private directory that a session's commands see as /tmp; removed at the end of the session."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

PREFIX: Final = "robota-tmp-"
# A new directory is not locked yet for a moment.
YOUNG_S: Final = 60.0


class PrivateTmp:
    """Exists until `remove`. A lock marks it as in use; the next session removes those of killed sessions."""

    def __init__(self) -> None:
        # Imported late: at the start of a session only `remove_abandoned` runs, and rarely finds one.
        import tempfile

        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = _locked(self.path)
        remove_abandoned(self.path.parent)

    def remove(self) -> None:
        """Stop the proxy. Idempotent."""
        _remove(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned(parent: Path) -> None:
    """Remove those that no running session has locked."""
    with suppress(OSError):
        for abandoned in _abandoned(parent):
            _remove(abandoned)


def _remove(directory: Path) -> None:
    from robota.workspace.files.remove_tree import remove_tree

    remove_tree(directory)


def _abandoned(parent: Path) -> Iterator[Path]:
    """Those of this user that are not young and not locked."""
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
    """A descriptor with a lock; None if another process has it, or locks do not work here."""
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
