"""Whether a path exists, if that can be determined."""

import os
from enum import Enum, auto
from pathlib import Path


class Presence(Enum):
    """Whether something is at a path. If that cannot be determined, the caller decides what is safe."""

    PRESENT = auto()
    ABSENT = auto()
    # In a directory that is closed to us, or with a path that is too long for us but not for a program inside it.
    UNKNOWN = auto()


def presence_of(path: str | Path, directory: int | None = None) -> Presence:
    """Whether there is a file, a directory or a link, which is not followed. A relative `path` is in `directory`."""
    try:
        os.stat(path, dir_fd=directory, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # no name contains a NUL
        return Presence.ABSENT
    except OSError:
        return Presence.UNKNOWN
    return Presence.PRESENT


def may_be_present(path: str | Path) -> bool:
    """Whether the path exists, or may exist: for paths that must be protected or refused."""
    return presence_of(path) is not Presence.ABSENT


def outermost_absent(path: Path, root: Path) -> Path:
    """The path itself if it exists, or else the outermost directory below `root` that would have to be created."""
    way = [each for each in (*reversed(path.parents), path) if root in each.parents]
    return next((each for each in way if presence_of(each) is Presence.ABSENT), path)


def mode_of(path: str | Path) -> int:
    """The mode without following links; 0 if it cannot be read, because then a command cannot read it either."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def mode_behind(path: Path) -> int:
    """The mode of what a path leads to; 0 if it leads nowhere, or through a directory that is closed to us."""
    try:
        return path.stat().st_mode
    except OSError:
        return 0
