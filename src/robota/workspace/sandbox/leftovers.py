"""What a killed Robota left goes when the next one starts: half-done patches, drafts, empty and temporary directories.

It runs at every start, so nothing is imported before there is something to remove.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from robota.workspace.files.steering_names import Guard, names_guarded_by

OWN_DIRECTORY: Final = ".robota"
# Also kept free, where a directory could become a repository without a `.git`.
BARE_REPOSITORY: Final = ("commondir", "refs", "HEAD")
# See `workspace/files/drafts.py`.
DRAFTS: Final = "drafts"
JOURNALS: Final = "patches"
WAITING_PLACEHOLDERS: Final = "placeholders"
PRIVATE_PREFIX: Final = "robota-tmp-"
ALWAYS_THERE: Final = "/tmp"


def clear_up_after_killed(root: Path, kept_in: Path, user_directory: Path, temporary: str) -> list[str]:
    """Clear up in a workspace whose sessions are kept in `kept_in`. Says what a person should know.

    `temporary` is where temporary files go on this machine.
    """
    _remove_directories(root, temporary)
    told = _remove_drafts(kept_in) if os.path.lexists(kept_in / OWN_DIRECTORY / DRAFTS) else []
    return told + _undo_patches(root, user_directory) if os.path.lexists(user_directory / JOURNALS) else told


def _remove_directories(root: Path, temporary: str) -> None:
    with suppress(OSError):
        names = [root / name for name in (*names_guarded_by(Guard.KEPT_FREE), *BARE_REPOSITORY)]
        with os.scandir(root) as entries:
            there = {entry.name for entry in entries}
        if candidates := [name for name in names if name.name in there and _is_empty(name)]:
            _remove_placeholders(candidates, root / OWN_DIRECTORY)
        if OWN_DIRECTORY in there and os.path.lexists(root / OWN_DIRECTORY / WAITING_PLACEHOLDERS):
            _remove_waiting(root / OWN_DIRECTORY)
    with suppress(OSError), os.scandir(temporary or ALWAYS_THERE) as entries:
        has_private = any(entry.name.startswith(PRIVATE_PREFIX) for entry in entries)
        if has_private:
            _remove_private(Path(temporary or ALWAYS_THERE))


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


def _remove_placeholders(names: list[Path], lock_directory: Path) -> None:
    from robota.workspace.sandbox.placeholders import is_placeholder, remove_abandoned

    if any(is_placeholder(name) for name in names):
        remove_abandoned(names, lock_directory)


def _remove_waiting(directory: Path) -> None:
    from robota.workspace.sandbox.placeholders import remove_waiting

    remove_waiting(directory)


def _remove_private(parent: Path) -> None:
    from robota.workspace.sandbox.private_tmp import remove_abandoned

    remove_abandoned(parent)
