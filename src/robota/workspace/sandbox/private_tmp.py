"""The private directory that a session's commands see as /tmp; removed at the end of the session.

Its name must be out of reach for commands: one that could replace it by a link would get what the link leads to.
"""

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

# In the user's directory.
TEMPORARY: Final = "tmp"
PREFIX: Final = "robota-tmp-"
# A new directory is not locked yet for a moment.
YOUNG_S: Final = 60.0


class PrivateTmp:
    """Exists until `remove`. A lock marks it as in use; the next session removes leftovers of killed sessions."""

    def __init__(self, parents: Sequence[Path]) -> None:
        """Create it in the first of these directories where that is possible. Raises `OSError`."""
        self.path = _created(parents)
        self._lock = _locked(self.path)
        remove_abandoned(self.path.parent)

    def remove(self) -> None:
        """Remove it with everything in it. Idempotent."""
        _remove(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def private_tmp_parents(root: Path, user_directory: Path | None) -> tuple[Path, ...]:
    """Where commands cannot write: in the user's directory, or where temporary files are, if not in the workspace."""
    # Imported late: at the start of a session only `remove_abandoned` runs, and rarely finds one.
    import tempfile

    shared = Path(os.path.realpath(tempfile.gettempdir()))
    own = () if user_directory is None else (Path(os.path.realpath(user_directory)) / TEMPORARY,)
    return own if shared.is_relative_to(root) else (*own, shared)


def _created(parents: Sequence[Path]) -> Path:
    import tempfile

    from robota.config.durable_file import make_private_directory

    problem = OSError("every place for temporary files is inside the workspace")
    for parent in parents:
        try:
            make_private_directory(parent)
            return Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        except OSError as error:
            problem = error
    raise problem


def remove_abandoned(parent: Path) -> None:
    """Remove directories that no running session has locked."""
    with suppress(OSError):
        for abandoned in _abandoned(parent):
            _remove(abandoned)


def _remove(directory: Path) -> None:
    from robota.workspace.files.remove_tree import remove_tree

    remove_tree(directory)


def _abandoned(parent: Path) -> Iterator[Path]:
    """Old directories of this user that are not locked."""
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
