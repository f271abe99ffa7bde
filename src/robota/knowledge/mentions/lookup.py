"""What a path in a prompt names. Nothing is opened: whether it may be read is decided when it is."""

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


def kind_of(files: Files, path: str) -> PathKind:
    """What is at a path, seen from the workspace; links are followed, as far as they stay in it."""
    try:
        status = os.lstat(files.resolve(path))
    except OutsideWorkspace:
        return PathKind.OUTSIDE if os.path.lexists(files.root / path) else PathKind.NOTHING
    except (FileProblem, OSError, ValueError):
        return PathKind.NOTHING
    return PathKind.DIRECTORY if stat.S_ISDIR(status.st_mode) else PathKind.FILE
