"""A directory held by descriptor. No link in it is followed, so links that an archive planted lead nowhere."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Self

DIRECTORY_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
# Each level holds a descriptor while a tree is read.
MAX_DEPTH: Final = 64


class UnsafeEntry(Exception):
    """There is a link, pipe or device where only files and directories may be; the message names it."""


class TreeEntry(NamedTuple):
    """A file, or a directory, in a tree. `parent` is open until the next entry is requested."""

    name: str
    parent: "PlainDirectory"
    status: os.stat_result

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)

    def read(self, most: int) -> tuple[bytes, os.stat_result]:
        """See `PlainDirectory.read`."""
        return self.parent.read(self.name.rpartition("/")[2], most)


class PlainDirectory:
    """An open directory. Names are relative to it, without `..`; `path` is only for messages."""

    def __init__(self, descriptor: int, path: str = "") -> None:
        self.descriptor = descriptor
        self._path = path

    @classmethod
    def at(cls, path: Path) -> Self:
        """Open a directory by its absolute path, which must not contain links. Raises `UnsafeEntry` or `OSError`."""
        descriptor = os.open("/", DIRECTORY_FLAGS)
        for name in path.parts[1:]:
            descriptor = _opened_within(descriptor, name, str(path))
        return cls(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode: the same as long as it is the same directory."""
        status = os.fstat(self.descriptor)
        return status.st_dev, status.st_ino

    def directory(self, name: str, *, make: bool = False) -> "PlainDirectory":
        """Open a directory below this one, creating it and those above it with `make`."""
        descriptor = os.dup(self.descriptor)
        for part in filter(None, name.split("/")):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            descriptor = _opened_within(descriptor, part, self._path + name)
        return PlainDirectory(descriptor, f"{self._path}{name}/")

    def status(self, name: str) -> os.stat_result | None:
        """The status of an entry of this directory, not of what a link leads to; None if there is none."""
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self, name: str, most: int) -> tuple[bytes, os.stat_result]:
        """The content of a regular file in this directory. Raises `UnsafeEntry` if it is none, or too large."""
        status = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        require_plain(self._path + name, status, directory=False)
        descriptor = os.open(name, FILE_FLAGS, dir_fd=self.descriptor)
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            require_plain(self._path + name, status, directory=False)
            data = stream.read(min(status.st_size, most) + 1)
        if len(data) > most:
            raise UnsafeEntry(f"{self._path}{name} is too large")
        return data, status

    def entries(self) -> list[tuple[str, os.stat_result]]:
        """The entries of this directory, unsorted."""
        with_status: list[tuple[str, os.stat_result]] = []
        with os.scandir(self.descriptor) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    with_status.append((entry.name, entry.stat(follow_symlinks=False)))
        return with_status

    def tree(self, name: str, depth: int = 0) -> Iterator[TreeEntry]:
        """Every file and directory below a directory of this one, directories first. Raises `UnsafeEntry` at a link."""
        if depth > MAX_DEPTH:
            raise UnsafeEntry(f"{self._path}{name} is too deep")
        with self.directory(name) as directory:
            for entry, status in directory.entries():
                require_plain(directory._path + entry, status)
                yield TreeEntry(directory._path + entry, directory, status)
                if stat.S_ISDIR(status.st_mode):
                    yield from directory.tree(entry, depth + 1)


def require_plain(name: str, status: os.stat_result, *, directory: bool = True) -> None:
    """Raise `UnsafeEntry` unless this is a regular file, or, if that may be, a directory."""
    if stat.S_ISLNK(status.st_mode):
        raise UnsafeEntry(f"{name} is a link")
    if not stat.S_ISREG(status.st_mode) and not (directory and stat.S_ISDIR(status.st_mode)):
        kind = "a directory" if stat.S_ISDIR(status.st_mode) else "neither a file nor a directory"
        raise UnsafeEntry(f"{name} is {kind}")


def _opened_within(parent: int, name: str, path: str) -> int:
    """Open a directory of `parent`, which is closed."""
    try:
        return os.open(name, DIRECTORY_FLAGS, dir_fd=parent)
    except NotADirectoryError as error:
        # Both flags together: a link is reported like a file.
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        kind = "a link" if stat.S_ISLNK(status.st_mode) else "no directory"
        raise UnsafeEntry(f"{path} is {kind}") from error
    finally:
        os.close(parent)
