"""What can be wrong with a path, a file, a command or the machine."""

import errno
import posixpath
from typing import Final

NO_THREAD: Final = "can't start new thread"  # what Python says if the system gives it none
NO_MEMORY: Final = "The machine has no memory left. End other programs, then try again."
NO_DISK: Final = "The disk is full. Free some space, then try again."
NO_PROCESSES: Final = (
    "The machine allows no more processes or threads. End other programs of this user or raise the limit (`ulimit -u`, "
    "or that of the container), then try again."
)
NO_FILES: Final = (
    "The machine allows no more open files. End other programs or raise the limit (`ulimit -n`), then try again."
)
SHORTAGES: Final = {
    errno.EAGAIN: NO_PROCESSES,
    errno.EMFILE: NO_FILES,
    errno.ENFILE: NO_FILES,
    errno.ENOMEM: NO_MEMORY,
    errno.ENOSPC: NO_DISK,
    errno.EDQUOT: NO_DISK,
}


def shortage_behind(error: BaseException) -> str | None:
    """If the error comes from a lack of resources, what is lacking and what to do; then it is not our bug."""
    match error:
        case BaseExceptionGroup():
            return next(filter(None, map(shortage_behind, error.exceptions)), None)
        case MemoryError():
            return NO_MEMORY
        case OSError():
            return SHORTAGES.get(error.errno or 0)
        case RuntimeError() if str(error) == NO_THREAD:
            return NO_PROCESSES
        case _:
            return None


class FileProblem(Exception):
    """A file operation was refused or failed. Nothing was changed."""


class InvalidPath(FileProblem):
    """The text is not a usable path."""


class OutsideWorkspace(FileProblem):
    """The path leads out of the workspace, by itself or through a symbolic link."""


class Missing(FileProblem):
    """There is nothing at the path."""


class NotARegularFile(FileProblem):
    """There is a directory, pipe, device or socket at the path."""


class NotADirectory(FileProblem):
    """A directory was expected at the path."""


class TooBig(FileProblem):
    """The file is larger than the caller can take."""


class NotPermitted(FileProblem):
    """The file is write-protected, or the system refused the operation."""


class BinaryContent(FileProblem):
    """The bytes are not text."""


class Unencodable(FileProblem):
    """The text holds characters that the file's encoding does not have."""


class Ignored(FileProblem):
    """The user's ignore file keeps this path from the model."""


class NotRead(FileProblem):
    """The file exists, and the model wants to replace it without having read it."""


class FileChanged(FileProblem):
    """The file is no longer what the model read, or what an edit was worked out from."""


def too_big(path: str, size: int, limit: int) -> TooBig:
    """The problem of a file that is larger than `limit` bytes."""
    return TooBig(
        f"{path!r} has {size:,} bytes or more; at most {limit:,} can be read at once. Read a part with a command."
    )


def hidden_by(name: str, path: str) -> Ignored:
    """The problem of a path that an ignore file of this name keeps from the model."""
    return Ignored(
        f"{path!r} is hidden from you by a {name} file. Nothing was read or changed. Do without it, or ask the user."
    )


def changed_just_now(path: str, kept: str | None = None) -> FileChanged:
    """The problem of a file that another program changed; an older version of it is `kept` under this name."""
    if kept is None:
        return FileChanged(f"{path!r} was changed by another program just now. It was not changed. Read it again.")
    beside = posixpath.join(posixpath.dirname(path), kept)
    return FileChanged(
        f"{path!r} was changed by other programs twice during this write. Their last version is in place, and the one "
        f"before it was saved as {beside!r}. Read both, and tell the user about the saved one."
    )


class Overtaken(Exception):
    """Another program, which does not use our locks, changed a file at the last moment. Its version is in place.

    `kept` is the name, next to the file, of an older version by that program that could not be put back.
    """

    def __init__(self, kept: str | None = None) -> None:
        super().__init__(kept)
        self.kept = kept


class CommandNotStarted(Exception):
    """The command could not be started, so nothing ran."""


class RootReplaced(FileProblem, CommandNotStarted):
    """The path of the workspace leads to another directory than at the start of the session, or to none."""
