"""The files below a directory that a recursive search command would read."""

import os
from typing import Final

import msgspec

MAX_ENTRIES: Final = 20_000
# Of a whole workspace, once in a session.
MAX_SEARCHED: Final = 1_000_000
# Third-party code and git data: they hold no secrets of the user.
PASSED_OVER: Final = frozenset({".git", "node_modules", "site-packages", "__pycache__", ".tox", ".venv", "venv"})


class FoundFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Paths relative to the root. What is in the `unreadable` directories is not known."""

    files: tuple[str, ...]
    unreadable: tuple[str, ...] = ()


def files_below(root: str, start: str) -> tuple[str, ...] | None:
    """The files that `find_files` finds, as far as directories can be read."""
    listing = find_files(root, start)
    return None if listing is None else listing.files


def find_files(root: str, start: str, most: int = MAX_ENTRIES) -> FoundFiles | None:
    """A file, or all files below a directory; None for more than `most` entries.

    Links to files are included; links to directories are not followed.
    """
    if os.path.isfile(os.path.join(root, start)):  # noqa: PTH113, PTH118 - paths are text here
        return FoundFiles(files=(start,))
    files: list[str] = []
    unreadable: list[str] = []
    waiting, seen = ["" if start == "." else start], 0
    while waiting:
        directory = waiting.pop()
        try:
            with os.scandir(os.path.join(root, directory)) as entries:  # noqa: PTH118
                for entry in entries:
                    seen += 1
                    path = f"{directory}/{entry.name}" if directory else entry.name
                    if not entry.is_dir(follow_symlinks=False):
                        files.append(path)
                    elif entry.name not in PASSED_OVER:
                        waiting.append(path)
                    if seen > most:
                        return None
        except PermissionError:
            unreadable.append(directory)
        except OSError:
            continue
    return FoundFiles(files=tuple(files), unreadable=tuple(unreadable))
