"""Replaces or removes a file atomically, without losing the version of another program that writes at the same time.

Only our own draft is ever thrown away, and the version that was to be replaced: unchanged, and with nobody who could
still write into it. Others who write at the same moment do not lock, and may rename files over ours, write in place,
or remove the file. So a version of theirs may be taken out; it is put back. If they have put another one there by then,
the newer one stands in the place, and the older one is kept beside it.
"""

import os
from contextlib import suppress

from robota.workspace.files.drafts import draft_name
from robota.workspace.files.exchange_names import exchange_names
from robota.workspace.files.open_for_writing import is_open_for_writing
from robota.workspace.problems import Overtaken

LONGEST_STEM = 200


def safe_replace(around: int, draft: str, parent: int, name: str, before: os.stat_result) -> None:
    """Replace the file by the draft, which is closed. `Overtaken` if the file is not `before`."""
    ours = os.lstat(draft, dir_fd=around)
    is_done = False
    try:
        is_done = _exchanged(around, draft, parent, name, ours, before)
    finally:
        kept = _throw_away(around, draft, parent, name, before if is_done else ours)
    if not is_done:
        raise Overtaken(kept)


def safe_remove(parent: int, name: str, before: os.stat_result, drafts: int | None) -> None:
    """Remove a file or a link. `Overtaken` if it is not `before`."""
    aside = draft_name(before)
    around = _moved_aside(parent, name, aside, drafts)
    is_done = False
    try:
        is_done = _is_untouched(around, aside, before)
        if not is_done:
            with suppress(OSError):  # they have written another one, or there are no hard links here
                os.link(aside, name, src_dir_fd=around, dst_dir_fd=parent, follow_symlinks=False)
                os.unlink(aside, dir_fd=around)
    finally:
        kept = _throw_away(around, aside, parent, name, before)
    if not is_done:
        raise Overtaken(kept)


def _exchanged(around: int, draft: str, parent: int, name: str, ours: os.stat_result, before: os.stat_result) -> bool:
    """Whether the draft has its place now. If not, what is newest of others stands there, as far as they left it."""
    if not exchange_names(around, draft, name, parent):
        # A system that cannot do it: somebody who renames a file in this very moment is not noticed.
        if not is_same_version(os.lstat(name, dir_fd=parent), before):
            return False
        os.rename(draft, name, src_dir_fd=around, dst_dir_fd=parent)
        return True
    if _is_untouched(around, draft, before):
        return True
    with suppress(OSError):  # they have removed ours: what was taken out is kept
        exchange_names(around, draft, name, parent)
        if not _is_untouched(around, draft, ours):
            # They have put another version over ours, or written into it: that one is newer than what went back.
            exchange_names(around, draft, name, parent)
    return False


def _throw_away(around: int, draft: str, parent: int, name: str, removable: os.stat_result) -> str | None:
    """Unlink what has the name of a draft if that is all it is; else keep it beside the file, and say its name."""
    with suppress(FileNotFoundError):
        if _is_untouched(around, draft, removable):
            os.unlink(draft, dir_fd=around)
            return None
        stem = os.fsdecode(os.fsencode(name)[:LONGEST_STEM])
        kept = f"{stem}.robota-kept-{os.urandom(4).hex()}"
        os.rename(draft, kept, src_dir_fd=around, dst_dir_fd=parent)
        return kept
    return None


def _moved_aside(parent: int, name: str, aside: str, drafts: int | None) -> int:
    """Give the file another name; the directory in which it has that one now."""
    if drafts is not None:
        with suppress(OSError):  # on another file system
            os.rename(name, aside, src_dir_fd=parent, dst_dir_fd=drafts)
            return drafts
    os.rename(name, aside, src_dir_fd=parent, dst_dir_fd=parent)
    return parent


def _is_untouched(directory: int, name: str, status: os.stat_result) -> bool:
    # In this order: who closes the file between the two questions has written before the second one.
    return not is_open_for_writing(directory, name) and is_same_version(os.lstat(name, dir_fd=directory), status)


def is_same_version(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether it is the same file with the same content."""
    # The time of the last status change is not compared: renaming sets it.
    return (one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns) == (
        other.st_ino,
        other.st_mode,
        other.st_size,
        other.st_mtime_ns,
    )
