"""Paths beneath a root: resolved by name first, then opened one directory at a time without following links.

Resolving by name answers *where* a path leads. Opening by descriptor makes sure that what is opened is what
was resolved, even if somebody swaps a directory for a symbolic link in between.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from robota.workspace.problems import (
    InvalidPath,
    Missing,
    NotADirectory,
    NotPermitted,
    OutsideWorkspace,
)

MAX_PATH_BYTES = 4096
DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def resolve_beneath(root: Path, path: str) -> Path:
    """The real path that `path` means; `root` must be a real path itself."""
    _check_spelling(path)
    real = Path(os.path.realpath(root / path))
    if not real.is_relative_to(root):
        raise OutsideWorkspace(
            f"{path!r} is outside the workspace {str(root)!r}. Nothing was touched. Use a path inside the workspace."
        )
    _check_fully_resolved(real, root, path)
    return real


@contextmanager
def directory_beneath(root: Path, directory: Path, *, create: bool = False) -> Iterator[int]:
    """A descriptor of `directory`, which must be a resolved path beneath `root`."""
    descriptor = os.open(root, DIRECTORY_FLAGS)
    try:
        for name in directory.relative_to(root).parts:
            deeper = _open_or_make(name, descriptor, create=create)
            os.close(descriptor)
            descriptor = deeper
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def system_errors_as_problems(path: str) -> Iterator[None]:
    """Turn what the system says into a problem that names the path as the caller wrote it."""
    try:
        yield
    except FileNotFoundError as error:
        raise Missing(f"{path!r} does not exist.") from error
    except NotADirectoryError as error:
        raise NotADirectory(f"{path!r}, or a part of it, is not a directory.") from error
    except OSError as error:
        raise NotPermitted(f"{path!r}: {error.strerror or error}. Nothing was changed.") from error


def _check_spelling(path: str) -> None:
    if not path.strip():
        raise InvalidPath("The path is empty. Give a path relative to the workspace; '.' is the workspace itself.")
    if "\0" in path:
        raise InvalidPath("The path contains a NUL byte, which no file name can have.")
    if path == "~" or path.startswith(("~/", "file://")):
        raise InvalidPath(f"{path!r} is not expanded. Give a plain path relative to the workspace.")
    try:
        size = len(os.fsencode(path))
    except UnicodeEncodeError as error:
        raise InvalidPath(f"{path!r} contains characters that no file name can have.") from error
    if size > MAX_PATH_BYTES:
        raise InvalidPath(f"The path is {size} bytes long; the limit is {MAX_PATH_BYTES}.")


def _check_fully_resolved(real: Path, root: Path, path: str) -> None:
    """`realpath` passes over what it cannot look at; here that is a refusal, never a guess."""
    for place in (real, *real.parents):
        if place == root:
            return
        try:
            is_link = stat.S_ISLNK(place.lstat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise InvalidPath(f"{path!r} cannot be resolved: {error.strerror}.") from error
        if is_link:
            raise InvalidPath(f"{path!r} cannot be resolved: its symbolic links form a loop.")


def _open_or_make(name: str, parent: int, *, create: bool) -> int:
    try:
        return os.open(name, DIRECTORY_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):  # made by somebody else meanwhile; if it is no directory, opening it says so
        os.mkdir(name, dir_fd=parent)
    return os.open(name, DIRECTORY_FLAGS, dir_fd=parent)
