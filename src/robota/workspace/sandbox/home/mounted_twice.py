"""Find directories that are mounted at a second place, such as a home beneath the top of a btrfs volume."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.sandbox.resource_exhaustion import raise_if_exhausted

MOUNTS: Final = Path("/proc/self/mountinfo")
# How the kernel writes spaces, tabs, line ends and backslashes in that list.
ESCAPED: Final = re.compile(r"\\([0-7]{3})")


class MountedDirectory(msgspec.Struct, frozen=True):
    """Where a directory `top` of a file system can be seen."""

    device: str
    top: Path
    point: Path


def other_paths_of(directories: Iterable[Path]) -> Iterator[Path]:
    """The paths, besides the given ones, that lead to these directories through other mounts.

    A directory that is part of one of them, mounted elsewhere by itself, is not among them.
    """
    mounts = _mounts()
    for directory in directories:
        around = [mount for mount in mounts if directory.is_relative_to(mount.point)]
        if not around:
            continue
        holder = max(around, key=lambda mount: len(mount.point.parts))
        inside = holder.top / directory.relative_to(holder.point)
        for mount in mounts:
            if mount.device == holder.device and inside.is_relative_to(mount.top):
                path = mount.point / inside.relative_to(mount.top)
                if path != directory and _are_one(path, directory):
                    yield path


def _mounts() -> list[MountedDirectory]:
    try:
        lines = os.fsdecode(MOUNTS.read_bytes()).split("\n")
    except OSError as error:
        raise_if_exhausted(error)
        return []
    fields = [line.split(" ", 5) for line in lines]
    return [MountedDirectory(each[2], _path(each[3]), _path(each[4])) for each in fields if len(each) > 5]


def _path(written: str) -> Path:
    return Path(ESCAPED.sub(lambda match: chr(int(match[1], 8)), written))


def _are_one(path: Path, other: Path) -> bool:
    """Whether both lead to the same directory: a later mount may cover one of them."""
    try:
        return path.samefile(other)
    except OSError as error:
        raise_if_exhausted(error)
        return False
