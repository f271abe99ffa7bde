"""Temporary files of unfinished writes: drafts of files in the workspace, journals of patches outside it.

The name of a draft encodes which versions may be deleted under that name: the draft itself and the version that it was
going to replace. Anything else with such a name was written by another program and got there by an exchange that was
interrupted.

A session that writes holds a shared lock on the directory of drafts; a process that gets it exclusively may clean up.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

# Exists in workspaces that keep sessions, and is ignored by git.
OWN_DIRECTORY: Final = ".robota"
SESSIONS: Final = "sessions"
DRAFTS: Final = "drafts"
JOURNALS: Final = "patches"
BEGINNING: Final = ".robota-"
DRAFT: Final = re.compile(r"\.robota-[0-9a-f]{16}(?P<removable>(?:-[0-9a-f]{16}){0,2})\.tmp")
FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def journal_directory(user_directory: Path, root: Path) -> Path:
    """The directory for the journals of patches to a workspace (`change_journal.py`)."""
    return user_directory / JOURNALS / sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:24]


def draft_name(*removable: os.stat_result) -> str:
    """A unique name that encodes the versions in `removable`. Without any, only the draft itself ever has this name."""
    marks = "".join(f"-{_mark(status)}" for status in removable)
    return f"{BEGINNING}{os.urandom(8).hex()}{marks}.tmp"


def may_be_removed(name: str, status: os.stat_result) -> bool:
    """Whether this file is the draft of a killed session, or the version that the draft replaced."""
    match = DRAFT.fullmatch(name)
    if match is None:
        return False
    marks = match["removable"].split("-")[1:]
    return not marks or _mark(status) in marks


def _mark(status: os.stat_result) -> str:
    return sha256(f"{status.st_ino}:{status.st_size}:{status.st_mtime_ns}".encode()).hexdigest()[:16]


@contextmanager
def drafts_directory(root: Path) -> Iterator[int | None]:
    """Open and lock the directory of drafts; None if that fails, and drafts are made next to their targets."""
    descriptor = _locked(root, fcntl.LOCK_SH)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def remove_abandoned_drafts(root: Path) -> list[str]:
    """Remove the drafts of killed sessions, unless a session is writing right now. Links are not followed.

    Versions written by other programs are kept under another name; the returned messages say where.
    """
    if not os.path.lexists(root / OWN_DIRECTORY / DRAFTS):
        return []
    descriptor = _locked(root, fcntl.LOCK_EX)
    if descriptor is None:
        return []
    try:
        with os.scandir(descriptor) as entries:
            drafts = [entry for entry in entries if entry.name.startswith(BEGINNING)]
        kept = [name for entry in drafts if (name := _remove_or_keep(descriptor, entry))]
    finally:
        os.close(descriptor)
    return [
        "A session was killed in the middle of a write. What another program had written at that moment is kept as "
        f"{OWN_DIRECTORY}/{DRAFTS}/{name}."
        for name in kept
    ]


def _remove_or_keep(directory: int, draft: os.DirEntry[str]) -> str | None:
    """Remove a draft; return the new name of a file that has to be kept."""
    with suppress(OSError):
        if may_be_removed(draft.name, draft.stat(follow_symlinks=False)):
            os.unlink(draft.name, dir_fd=directory)
        else:
            kept = f"kept-{os.urandom(4).hex()}"
            os.rename(draft.name, kept, src_dir_fd=directory, dst_dir_fd=directory)
            return kept
    return None


def _locked(root: Path, lock_kind: int) -> int | None:
    try:
        own = os.open(root / OWN_DIRECTORY, FLAGS)
    except OSError:
        return None
    try:
        # Without sessions, this may be a placeholder that exists only while a sandboxed command runs.
        os.stat(SESSIONS, dir_fd=own, follow_symlinks=False)
        with suppress(FileExistsError):
            os.mkdir(DRAFTS, 0o700, dir_fd=own)
        descriptor = os.open(DRAFTS, FLAGS, dir_fd=own)
    except OSError:
        return None
    finally:
        os.close(own)
    try:
        fcntl.flock(descriptor, lock_kind | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
