"""Ignore files in `.gitignore` syntax, in any directory: which paths they match."""

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from robota.workspace.problems import Ignored

if TYPE_CHECKING:
    from robota.workspace.files.gitignore import GitIgnore

KEPT_FROM_THE_MODEL = ".robotaignore"
LEFT_OUT_OF_LISTINGS = ".gitignore"
MAX_BYTES = 1024 * 1024
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

PathParts = tuple[str, ...]
Stamp = tuple[int, ...]


def is_ignore_file(place: str) -> bool:
    """Whether a path is that of an ignore file, which keeps files from the model."""
    return place == KEPT_FROM_THE_MODEL or place.endswith(f"/{KEPT_FROM_THE_MODEL}")


class PathTooLong(Ignored):
    """The path is too long for any system call, so the ignore files that apply to it cannot be found."""


class Patterns(msgspec.Struct, frozen=True):
    """The ignore files that apply to one directory, top down, each with the depth of the directory that holds it."""

    files: tuple[tuple[int, "GitIgnore"], ...] = ()

    def match(self, parts: PathParts, *, is_directory: bool) -> bool:
        """Whether a path relative to the root is matched; the caller has checked its parent directories before."""
        matched = False
        for above, spec in self.files:
            verdict = spec.check(parts[above:], is_directory=is_directory)
            matched = matched if verdict is None else verdict
        return matched


class IgnoreFiles:
    """All ignore files of one name beneath a root. They are read when first needed, and again when they change."""

    def __init__(self, root: Path, name: str) -> None:
        self._root = root
        self.name = name
        self._read: dict[PathParts, tuple[Stamp, GitIgnore]] = {}

    def match(self, parts: PathParts, *, is_directory: bool = False) -> bool:
        """Whether the path, or one of its parent directories, is matched."""
        last = len(parts) - 1
        patterns = Patterns()
        for depth in range(len(parts)):
            patterns = self.with_file_of(parts[:depth], patterns)
            if patterns.match(parts[: depth + 1], is_directory=is_directory or depth < last):
                return True
        return False

    def patterns(self, directory: PathParts) -> Patterns:
        """The patterns that apply to the entries of a directory."""
        patterns = Patterns()
        for depth in range(len(directory) + 1):
            patterns = self.with_file_of(directory[:depth], patterns)
        return patterns

    def with_file_of(self, directory: PathParts, above: Patterns) -> Patterns:
        """The patterns for the entries of a directory, given the patterns for the directory itself."""
        spec = self._spec(directory)
        return above if spec is None else Patterns((*above.files, (len(directory), spec)))

    def _spec(self, directory: PathParts) -> "GitIgnore | None":
        path = os.path.join(self._root, *directory, self.name)  # noqa: PTH118 - called at every file operation
        try:
            status = os.stat(path)  # noqa: PTH116
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise PathTooLong(f"{path[:100]!r}… is too long a path. Nothing was read or changed.") from error
            raise _unusable(path, error.strerror or str(error)) from error
        if stat.S_ISDIR(status.st_mode):
            return None  # not an ignore file; the sandbox puts such a placeholder there while a command runs
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        cached = self._read.get(directory)
        if cached is None or cached[0] != stamp:
            cached = self._read[directory] = (stamp, _compiled(path))
        return cached[1]


def _compiled(path: str) -> "GitIgnore":
    # Imported late: most workspaces have no such file.
    from robota.workspace.files.gitignore import GitIgnore

    try:
        return GitIgnore(_content(path).split("\n"))
    except (OSError, ValueError) as error:
        raise _unusable(path, str(error)) from error


def _content(path: str) -> str:
    with os.fdopen(os.open(path, FLAGS), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is not a regular file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(f"it has more than {MAX_BYTES:,} bytes")
    return data.decode("utf-8-sig", "surrogateescape")


def _unusable(path: str, problem: str) -> Ignored:
    """Fail closed: what the file should hide is unknown, so nothing is shown."""
    return Ignored(
        f"The ignore file {path!r} cannot be used: {problem}. No file was read or changed. Ask the user to fix it."
    )
