"""Where work in progress has a name for a moment: drafts of files in the workspace, journals of patches outside it.

A session holds a shared lock on the directory of drafts meanwhile; whoever gets it alone may remove everything.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from robota.workspace.files.atomic_write import DRAFT

# In a workspace where sessions are kept, which is hidden from git.
OWN_DIRECTORY: Final = ".robota"
SESSIONS: Final = "sessions"
DRAFTS: Final = "drafts"
JOURNALS: Final = "patches"
FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def journal_directory(user_directory: Path, root: Path) -> Path:
    """Where the journals of patches in a workspace are (`change_journal.py`)."""
    return user_directory / JOURNALS / sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:24]


@contextmanager
def drafts_directory(root: Path) -> Iterator[int | None]:
    """Opened and locked; None where there can be none, and drafts then stand beside the file they shall become."""
    descriptor = _locked(root, fcntl.LOCK_SH)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def remove_abandoned_drafts(root: Path) -> None:
    """Remove what killed sessions left, unless a session writes at this moment. Links are not followed."""
    if not os.path.lexists(root / OWN_DIRECTORY / DRAFTS):
        return
    descriptor = _locked(root, fcntl.LOCK_EX)
    if descriptor is None:
        return
    try:
        with os.scandir(descriptor) as entries:
            names = [entry.name for entry in entries if DRAFT.fullmatch(entry.name)]
        for name in names:
            with suppress(OSError):
                os.unlink(name, dir_fd=descriptor)
    finally:
        os.close(descriptor)


def _locked(root: Path, how: int) -> int | None:
    try:
        own = os.open(root / OWN_DIRECTORY, FLAGS)
    except OSError:
        return None
    try:
        # Without sessions, this may be a directory that only stands there while a command runs.
        os.stat(SESSIONS, dir_fd=own, follow_symlinks=False)
        with suppress(FileExistsError):
            os.mkdir(DRAFTS, 0o700, dir_fd=own)
        descriptor = os.open(DRAFTS, FLAGS, dir_fd=own)
    except OSError:
        return None
    finally:
        os.close(own)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
