"""Submodules of the workspace: what a command must not put another repository in place of.

git looks into them whenever somebody looks at the workspace, and runs what their configuration names. It is not enough
that a `.git` is read-only: the directory around it could be moved away, or one that is still empty could be filled.
"""

import os
import stat
from itertools import islice
from pathlib import Path

import msgspec

from robota.workspace.sandbox.repositories import GIT, MOST_PLACES, is_there, submodule_paths


class Submodules(msgspec.Struct, frozen=True, kw_only=True):
    """`pinned` can be written to, but must stay where they are, the outer ones first; `closed` must not change."""

    pinned: tuple[Path, ...]
    closed: tuple[Path, ...]


def find_submodules(root: Path) -> Submodules:
    """Those that `.gitmodules` lists and git would look into, now or as soon as there is something in them."""
    pinned: dict[Path, None] = {}
    closed: list[Path] = []
    for place in islice(submodule_paths(root), MOST_PLACES):
        way = [parent for parent in reversed(place.parents) if parent.is_relative_to(root) and parent != root]
        if not all(_is_directory(each) for each in (*way, place)):
            continue
        if is_there(place / GIT):
            pinned.update(dict.fromkeys((*way, place)))
            closed.append(place / GIT)
        elif _is_empty(place):
            pinned.update(dict.fromkeys(way))
            closed.append(place)
    return Submodules(pinned=tuple(pinned), closed=tuple(closed))


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
