"""Repositories and submodules in a workspace whose git configuration a command must not change.

git looks into them whenever somebody looks at the workspace, and runs what their configuration names. For a submodule
it is not enough that its `.git` is read-only: the directory around it could be moved away, or one that is still empty
could be filled.
"""

import os
import re
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

GIT: Final = ".git"
# Enough for the repositories people nest by hand, at a cost of a few milliseconds.
MOST_ENTRIES: Final = 5000
MOST_DEPTH: Final = 4
MOST_PLACES: Final = 64
MOST_BYTES: Final = 64 * 1024
# Large, and made by tools that can make them again.
NOT_ENTERED: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__", "target", "build", "dist", ".tox"})
SUBMODULE_PATH: Final = re.compile(r"(?m)^\s*path\s*=\s*(.+?)\s*$")


class Submodules(msgspec.Struct, frozen=True, kw_only=True):
    """`pinned` can be written to, but must stay where they are, the outer ones first; `read_only` must not change."""

    pinned: tuple[Path, ...]
    read_only: tuple[Path, ...]


def find_git_paths(root: Path) -> tuple[Path, ...]:
    """Files and directories beneath `root` that tell git what to run; of the nested ones those that lie near."""
    real_root = Path(os.path.realpath(root))
    found: dict[Path, None] = {}
    for git in (root / GIT, *(place / GIT for place in submodule_paths(root)), *_nested(root)):
        if git.parent != root and is_there(git):
            found[git] = None
        led_to = (place for place in _led_to(git) if place != real_root and place.is_relative_to(real_root))
        found.update(dict.fromkeys(place for place in led_to if is_there(place)))
    return tuple(found)[:MOST_PLACES]


def find_submodules(root: Path) -> Submodules:
    """Those that `.gitmodules` lists and git would look into, now or as soon as there is something in them."""
    pinned: dict[Path, None] = {}
    read_only: list[Path] = []
    for place in islice(submodule_paths(root), MOST_PLACES):
        way = [parent for parent in reversed(place.parents) if parent.is_relative_to(root) and parent != root]
        if not all(_is_directory(each) for each in (*way, place)):
            continue
        if is_there(place / GIT):
            pinned.update(dict.fromkeys((*way, place)))
            read_only.append(place / GIT)
        elif _is_empty(place):
            pinned.update(dict.fromkeys(way))
            read_only.append(place)
    return Submodules(pinned=tuple(pinned), read_only=tuple(read_only))


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


def _is_directory(place: Path) -> bool:
    """And no link to one, which could lead anywhere."""
    try:
        return stat.S_ISDIR(place.stat(follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False


def _is_empty(directory: Path) -> bool:
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is None
    except OSError:
        return False
