"""Replace or remove a file atomically, without losing what another program writes at the same time.

Only two versions are ever deleted: our own draft, and the version that it replaces, if that is unchanged and no program
has it open for writing. Other programs take no lock: they may rename a file over ours, write in place or remove the
file at any moment. If the exchange takes out a version of theirs, it is put back. If they have written a newer one by
then, the newer one stays in place and the older one is kept next to it.
"""

import os
from contextlib import suppress

from robota.workspace.files.drafts import draft_name
from robota.workspace.files.exchange_names import exchange_names
from robota.workspace.files.open_for_writing import is_open_for_writing
from robota.workspace.problems import Overtaken

MAX_STEM_BYTES = 200


def safe_replace(around: int, draft: str, parent: int, name: str, before: os.stat_result) -> None:
    """Replace the file with the draft, which is closed. Raise `Overtaken` if the file is no longer `before`."""
    ours = os.lstat(draft, dir_fd=around)
    is_done = False
    try:
        is_done = _exchange(around, draft, parent, name, ours, before)
    finally:
        kept = _discard(around, draft, parent, name, before if is_done else ours)
    if not is_done:
        raise Overtaken(kept)


def safe_remove(parent: int, name: str, before: os.stat_result, drafts: int | None) -> None:
    """Remove a file or a link. Raise `Overtaken` if it is no longer `before`."""
    aside = draft_name(before)
    around = _move_aside(parent, name, aside, drafts)
    is_done = False
    try:
        is_done = _is_untouched(around, aside, before)
        if not is_done:
            with suppress(OSError):  # another one was written meanwhile, or the file system has no hard links
                os.link(aside, name, src_dir_fd=around, dst_dir_fd=parent, follow_symlinks=False)
                os.unlink(aside, dir_fd=around)
    finally:
        kept = _discard(around, aside, parent, name, before)
    if not is_done:
        raise Overtaken(kept)


def _exchange(around: int, draft: str, parent: int, name: str, ours: os.stat_result, before: os.stat_result) -> bool:
    """Put the draft in place and return whether it is there. If not, the newest version of others is in place."""
    if not exchange_names(around, draft, name, parent):
        # Without an atomic exchange, a file that is renamed over ours at this very moment goes unnoticed.
        if not is_same_version(os.lstat(name, dir_fd=parent), before):
            return False
        os.rename(draft, name, src_dir_fd=around, dst_dir_fd=parent)
        return True
    if _is_untouched(around, draft, before):
        return True
    with suppress(OSError):  # ours was removed meanwhile: the version that was taken out is kept
        exchange_names(around, draft, name, parent)
        if not _is_untouched(around, draft, ours):
            # Another version was put over ours, or ours was written to: that one is newer than the one put back.
            exchange_names(around, draft, name, parent)
    return False


def _discard(around: int, draft: str, parent: int, name: str, removable: os.stat_result) -> str | None:
    """Delete the file named `draft` if it is `removable`; otherwise keep it next to the file and return its name."""
    with suppress(FileNotFoundError):
        if _is_untouched(around, draft, removable):
            os.unlink(draft, dir_fd=around)
            return None
        stem = os.fsdecode(os.fsencode(name)[:MAX_STEM_BYTES])
        kept = f"{stem}.robota-kept-{os.urandom(4).hex()}"
        os.rename(draft, kept, src_dir_fd=around, dst_dir_fd=parent)
        return kept
    return None


def _move_aside(parent: int, name: str, aside: str, drafts: int | None) -> int:
    """Rename the file and return the directory that it is in now."""
    if drafts is not None:
        with suppress(OSError):  # a different file system
            os.rename(name, aside, src_dir_fd=parent, dst_dir_fd=drafts)
            return drafts
    os.rename(name, aside, src_dir_fd=parent, dst_dir_fd=parent)
    return parent


def _is_untouched(directory: int, name: str, status: os.stat_result) -> bool:
    # In this order: a program that closes the file between the two checks has written before the second one.
    return not is_open_for_writing(directory, name) and is_same_version(os.lstat(name, dir_fd=directory), status)


def is_same_version(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether both are the same file with the same content."""
    # The status change time is not compared: renaming changes it.
    return (one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns) == (
        other.st_ino,
        other.st_mode,
        other.st_size,
        other.st_mtime_ns,
    )
