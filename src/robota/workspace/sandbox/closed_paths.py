"""Find the existing files and directories of a workspace that make other programs run something: closed to commands.

These are repositories with the target of their `.git`, and files that steer other programs; nested ones up to a limit
in depth and number.
"""

import fnmatch
import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from robota.workspace.files.steering_names import Guard, names_guarded_by
from robota.workspace.sandbox.placeholders import is_placeholder
from robota.workspace.sandbox.repositories import GIT, git_file_targets, really_exists
from robota.workspace.sandbox.shortage import raise_if_short

# Enough for repositories that users nest by hand, at a cost of a few milliseconds.
MAX_ENTRIES: Final = 5000
MAX_DEPTH: Final = 4
MAX_PATHS: Final = 64
# Large directories that tools generate and can generate again.
MADE_BY_TOOLS: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__", "target", "build", "dist", ".tox"})
STEERING: Final = frozenset(names_guarded_by(Guard.READ_ONLY)) - {GIT}
NOT_ENTERED: Final = MADE_BY_TOOLS | STEERING | {GIT}
STEERING_PATHS: Final = tuple(sorted(name for name in STEERING if "/" in name))
STEERING_GLOBS: Final = re.compile("|".join(fnmatch.translate(name) for name in sorted(STEERING) if "*" in name))


def find_closed_paths(root: Path) -> tuple[Path, ...]:
    """Files and directories below `root` that make other programs run something, the nearest ones first."""
    real_root = Path(os.path.realpath(root))
    git_paths: dict[Path, None] = {}
    steering: list[Path] = [root / name for name in STEERING_PATHS if really_exists(root / name)]
    for directory, entries in _near(root):
        is_root = directory == str(root)
        steering += [Path(entry.path) for entry in entries if _steers(entry)]
        git = Path(directory, GIT)
        if is_root or any(entry.name == GIT for entry in entries):
            found = (*(() if is_root else (git,)), *git_file_targets(git))
            inside = (place for place in found if place != real_root and place.is_relative_to(real_root))
            git_paths.update(dict.fromkeys(place for place in inside if really_exists(place)))
    return (*tuple(git_paths)[:MAX_PATHS], *steering[:MAX_PATHS])


def _near(root: Path) -> Iterator[tuple[str, list["os.DirEntry[str]"]]]:
    """The directories below `root` with their entries, nearest first, beginning with `root` itself."""
    level, left = [str(root)], MAX_ENTRIES
    for _ in range(MAX_DEPTH + 1):
        below: list[str] = []
        for directory in level:
            if left <= 0:
                return
            entries = _entries(directory)
            left -= len(entries) + 1
            yield directory, entries
            below += [entry.path for entry in entries if _is_entered(entry)]
        level = below


def _steers(entry: "os.DirEntry[str]") -> bool:
    is_named = entry.name in STEERING or STEERING_GLOBS.fullmatch(entry.name) is not None
    return is_named and not entry.is_symlink() and not is_placeholder(Path(entry.path))


def _entries(directory: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(directory) as entries:
            return list(islice(entries, MAX_ENTRIES))
    except OSError as error:
        raise_if_short(error)
        return []  # a command cannot read it either


def _is_entered(entry: "os.DirEntry[str]") -> bool:
    return entry.name not in NOT_ENTERED and entry.is_dir(follow_symlinks=False)
