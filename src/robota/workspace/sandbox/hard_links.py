"""Find protected files with another name that a command could use to write what a read-only mount protects.

Commands cannot make such a name themselves, because a link does not lead from one mount to another. But an archive can
contain one.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from robota.workspace.sandbox.resource_exhaustion import raise_if_exhausted

# Data of git: objects of a local clone are hard links, and nothing in these directories is obeyed.
ONLY_DATA: Final = frozenset({"objects", "refs", "logs", "lfs"})
MAX_ENTRIES: Final = 20_000


def hard_link_problem(paths: Iterable[Path]) -> str:
    """Why these files and directories cannot be protected from writes by another name; empty if they can."""
    left = MAX_ENTRIES
    for path in paths:
        for file in _files(path):
            left -= 1
            if left < 0:
                return f"there are more than {MAX_ENTRIES:,} protected files to check for hard links"
            try:
                status = file.lstat()
            except OSError as error:
                raise_if_exhausted(error)
                continue  # gone, or not for us to see: then it is not for a command either
            if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                return f"{str(file)!r} is a hard link; a command could change it by its other name. Copy the file"
    return ""


def _files(path: Path) -> Iterator[Path]:
    try:
        is_directory = stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        is_directory = False  # the caller finds out why
    if not is_directory:
        yield path
        return
    for directory, names, files in os.walk(path, onerror=raise_if_exhausted):
        names[:] = [name for name in names if name not in ONLY_DATA or ".git" not in Path(directory).parts]
        yield from (Path(directory, name) for name in files)
