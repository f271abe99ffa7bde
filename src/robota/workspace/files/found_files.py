"""The files below a directory, as a command comes across them that searches it."""

import os
from typing import Final

MOST_ENTRIES: Final = 20_000
# What others have written, or git: nothing in there is a secret of this person.
PASSED_OVER: Final = frozenset({".git", "node_modules", "site-packages", "__pycache__", ".tox", ".venv", "venv"})


def files_below(root: str, start: str) -> tuple[str, ...] | None:
    """The paths, from the root on, of a file or of all files below a directory; None if there are too many.

    Links to files are among them, and links to directories are not followed.
    """
    if os.path.isfile(os.path.join(root, start)):  # noqa: PTH113, PTH118 - paths are text here
        return (start,)
    found: list[str] = []
    waiting, seen = ["" if start == "." else start], 0
    while waiting:
        place = waiting.pop()
        try:
            with os.scandir(os.path.join(root, place)) as entries:  # noqa: PTH118
                for entry in entries:
                    seen += 1
                    path = f"{place}/{entry.name}" if place else entry.name
                    if not entry.is_dir(follow_symlinks=False):
                        found.append(path)
                    elif entry.name not in PASSED_OVER:
                        waiting.append(path)
                    if seen > MOST_ENTRIES:
                        return None
        except OSError:
            continue
    return tuple(found)
