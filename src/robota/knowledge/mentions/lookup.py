"""Find out what a path in a prompt names, without opening it: whether it may be read is decided later."""

import os
import stat
from enum import Enum, auto

from robota.contracts.workspace import Files
from robota.workspace.problems import FileProblem, OutsideWorkspace


class PathKind(Enum):
    """What a path names."""

    NOTHING = auto()
    FILE = auto()
    DIRECTORY = auto()
    OUTSIDE = auto()


def path_kind(files: Files, path: str) -> PathKind:
    """What a path, relative to the workspace, names. Links that lead out of the workspace are OUTSIDE."""
    try:
        status = os.lstat(files.resolve(path))
    except OutsideWorkspace:
        return PathKind.OUTSIDE if os.path.lexists(files.root / path) else PathKind.NOTHING
    except (FileProblem, OSError, ValueError):
        return PathKind.NOTHING
    return PathKind.DIRECTORY if stat.S_ISDIR(status.st_mode) else PathKind.FILE
