"""Where git keeps what it obeys, besides the root's own `.git`: nested repositories, and where `.git` files lead."""

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

GIT: Final = ".git"
# Enough for the repositories people nest by hand, at a cost of a few milliseconds.
MOST_ENTRIES: Final = 5000
MOST_DEPTH: Final = 4
MOST_PLACES: Final = 64
MOST_BYTES: Final = 64 * 1024
# Large, and made by tools that can make them again.
NOT_ENTERED: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__", "target", "build", "dist", ".tox"})
SUBMODULE_PATH: Final = re.compile(r"(?m)^\s*path\s*=\s*(.+?)\s*$")


def git_places(root: Path) -> tuple[Path, ...]:
    """Files and directories beneath `root` that tell git what to run; of the nested ones those that lie near."""
    real_root = Path(os.path.realpath(root))
    found: dict[Path, None] = {}
    for git in (root / GIT, *(place / GIT for place in submodule_paths(root)), *_nested(root)):
        if git.parent != root and is_there(git):
            found[git] = None
        led_to = (place for place in _led_to(git) if place != real_root and place.is_relative_to(real_root))
        found.update(dict.fromkeys(place for place in led_to if is_there(place)))
    return tuple(found)[:MOST_PLACES]


def submodule_paths(root: Path) -> Iterator[Path]:
    """Where the submodules are that the workspace lists, however deep they lie."""
    for match in SUBMODULE_PATH.finditer(_beginning(root / ".gitmodules")):
        place = root / match[1]
        if ".." not in place.parts and place != root and place.is_relative_to(root):
            yield place


def is_there(place: Path) -> bool:
    """Whether it leads to something that can be looked at, whatever kind of name it is."""
    try:
        place.stat()
    except (OSError, ValueError):
        return False
    return True


def _nested(root: Path) -> Iterator[Path]:
    """`.git` of the directories beneath, nearest first."""
    level, left = [str(root)], MOST_ENTRIES
    for depth in range(MOST_DEPTH + 1):
        below: list[str] = []
        for directory in level:
            if left <= 0:
                return
            entries = _entries(directory)
            left -= len(entries) + 1
            if depth and any(entry.name == GIT for entry in entries):
                yield Path(directory, GIT)
            below += [entry.path for entry in entries if _is_entered(entry)]
        level = below


def _entries(directory: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(directory) as entries:
            return list(islice(entries, MOST_ENTRIES))
    except OSError:
        return []  # what we cannot look into, a command cannot either


def _is_entered(entry: "os.DirEntry[str]") -> bool:
    return entry.name != GIT and entry.name not in NOT_ENTERED and entry.is_dir(follow_symlinks=False)


def _led_to(git: Path) -> tuple[Path, ...]:
    """The repository that the `.git` file of a worktree or submodule names, and the one that this shares."""
    kind, _, target = _beginning(git).partition(":")
    if kind.strip() != "gitdir" or not target.strip():
        return ()
    directory = Path(os.path.realpath(git.parent / target.strip()))
    shared = Path(os.path.realpath(directory / _beginning(directory / "commondir").strip()))
    return directory, shared


def _beginning(file: Path) -> str:
    """Up to 64 KiB; nothing of what is no file, or cannot be read."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        return os.read(descriptor, MOST_BYTES).decode("utf-8", "replace").replace("\0", "")
    except OSError:
        return ""
    finally:
        os.close(descriptor)
