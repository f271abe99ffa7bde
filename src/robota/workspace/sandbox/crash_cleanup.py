"""Clean up after a killed Robota: unfinished patches, drafts, empty and temporary directories.

This runs at every start, so nothing is imported unless there is something to remove.
"""

import os
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.files.protected_names import Guard, names_guarded_by

OWN_DIRECTORY: Final = ".robota"
# Placeholders also block these names, which could turn a directory into a bare repository.
BARE_REPOSITORY: Final = ("commondir", "refs", "HEAD")
# See `workspace/files/drafts.py`.
DRAFTS: Final = "drafts"
JOURNALS: Final = "patches"
PLACEHOLDER_POOL: Final = "placeholders"
# See `private_tmp.py`.
TEMPORARY: Final = "tmp"


def clean_up_after_crash(root: Path, kept_in: Path, user_directory: Path) -> list[str]:
    """Clean up in a workspace whose sessions are stored in `kept_in`. Returns messages for the user."""
    _remove_directories(root, user_directory)
    messages = _remove_drafts(kept_in) if os.path.lexists(kept_in / OWN_DIRECTORY / DRAFTS) else []
    return messages + _undo_patches(root, user_directory) if os.path.lexists(user_directory / JOURNALS) else messages


def _remove_directories(root: Path, user_directory: Path) -> None:
    with suppress(OSError):
        names = (*names_guarded_by(Guard.KEPT_FREE), *BARE_REPOSITORY)
        with os.scandir(root) as entries:
            there = {entry.name for entry in entries}
        if candidates := [name for name in names if name in there and _is_empty(root / name)]:
            _remove_placeholders(candidates, root)
        if OWN_DIRECTORY in there and os.path.lexists(root / OWN_DIRECTORY / PLACEHOLDER_POOL):
            _remove_pool(root)
    if not _is_empty(user_directory / TEMPORARY) and os.path.lexists(user_directory / TEMPORARY):
        _remove_private(user_directory / TEMPORARY)


def _is_empty(directory: Path) -> bool:
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is None
    except OSError:
        return False


def _remove_drafts(kept_in: Path) -> list[str]:
    from robota.workspace.files.drafts import remove_abandoned_drafts

    return remove_abandoned_drafts(kept_in)


def _undo_patches(root: Path, user_directory: Path) -> list[str]:
    from robota.workspace.files.drafts import journal_directory
    from robota.workspace.files.interrupted_changes import undo_interrupted_changes

    return undo_interrupted_changes(root, journal_directory(user_directory, root))


def _remove_placeholders(names: list[str], root: Path) -> None:
    from robota.workspace.sandbox.placeholders import is_placeholder, remove_abandoned

    if any(is_placeholder(root / name) for name in names):
        with closing(HeldRoot(root)) as held_root:
            remove_abandoned(names, held_root)


def _remove_pool(root: Path) -> None:
    from robota.workspace.sandbox.placeholders import remove_pool

    with closing(HeldRoot(root)) as held_root:
        remove_pool(held_root)


def _remove_private(parent: Path) -> None:
    from robota.workspace.sandbox.private_tmp import remove_abandoned

    remove_abandoned(parent)
