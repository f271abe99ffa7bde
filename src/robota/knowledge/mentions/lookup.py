"""Find out what a path in a prompt names, without opening it: whether it may be read is decided later."""

import os
import stat
from enum import Enum, auto
from pathlib import Path

from robota.contracts.workspace import Files
from robota.workspace.problems import FileProblem, OutsideWorkspace


class PathKind(Enum):
    """What a path names."""

    NOTHING = auto()
    FILE = auto()
    DIRECTORY = auto()
    OUTSIDE = auto()


def path_kind(files: Files, path: str) -> PathKind:
    """What a path, relative to the workspace, refers to.

    It is OUTSIDE if it leads, also by a link, neither into the workspace nor into a directory that the user added.
    """
    try:
        real = Path(os.path.realpath(files.root / path))
        is_added = any(real.is_relative_to(directory) for directory in files.added())
        status = os.lstat(real if is_added else files.resolve(path))
    except OutsideWorkspace:
        return PathKind.OUTSIDE if os.path.lexists(files.root / path) else PathKind.NOTHING
    except (FileProblem, OSError, ValueError):
        return PathKind.NOTHING
    return PathKind.DIRECTORY if stat.S_ISDIR(status.st_mode) else PathKind.FILE
