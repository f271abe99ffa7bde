"""Reads instruction files safely: regular files only, up to a limit, and only below the project unless asked to."""

import codecs
import os
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

MAX_BYTES: Final = 64 * 1024
_OPEN_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_VIRTUAL_FILE_SYSTEMS: Final = (("proc",), ("sys",), ("dev",))
_UTF16_BOMS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class FileNotRead(Exception):
    """The file was not read. The message says why."""


class FileMissing(FileNotRead):
    """The file does not exist."""


class FileOutsideProject(FileNotRead):
    """The file is outside the project; `path` is its real path."""

    def __init__(self, path: str) -> None:
        super().__init__("it is outside the project")
        self.path = path


class FileContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a file, cut at `MAX_BYTES`; `identity` is the same for hard links and other names of one file."""

    path: str
    identity: tuple[int, int]
    data: bytes
    size: int

    @property
    def is_cut(self) -> bool:
        return self.size > len(self.data)


def read_in_project(path: Path, top: Path) -> FileContent:
    """Read a file below `top`. Links may lead to other files below it. Raises `FileNotRead`."""
    content = _read_without_links(path, top)
    return _read_real_path(_real_path(path), top) if content is None else content


def _read_without_links(path: Path, top: Path) -> FileContent | None:
    """The common case, a path without links. None if the path has links, leads out of `top`, or cannot be read."""
    try:
        return _read_below(top, path.relative_to(top).parts, str(path))
    except (OSError, ValueError, FileNotRead):
        return None


def _read_real_path(real: Path, top: Path) -> FileContent:
    try:
        components = real.relative_to(top).parts
    except ValueError:
        raise FileOutsideProject(str(real)) from None
    try:
        return _read_below(top, components, str(real))
    except OSError as error:
        raise FileNotRead(f"it cannot be read: {error.strerror}") from error


def _read_below(top: Path, components: tuple[str, ...], path: str) -> FileContent:
    """Read the file at these path components below `top`, none of which may be a link."""
    if not components or ".git" in components or ".." in components:
        raise FileNotRead("it is not a file of the project")
    with ExitStack() as opened:
        parent = _open(opened, str(top), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, None)
        for component in components[:-1]:
            parent = _open(opened, component, _OPEN_FLAGS | os.O_DIRECTORY, parent)
        return _read(components[-1], parent, _OPEN_FLAGS, path)


def read_outside_project(path: str) -> FileContent:
    """Read a file outside the project by its real path, but none of /proc, /sys or /dev. Raises `FileNotRead`."""
    if Path(path).parts[1:2] in _VIRTUAL_FILE_SYSTEMS:
        raise FileNotRead("it is not a regular file")
    try:
        return _read(path, None, _OPEN_FLAGS, path)
    except OSError as error:
        raise FileNotRead(f"it cannot be read: {error.strerror}") from error


def read_user_file(path: Path) -> FileContent:
    """Read a file of the user, following any link. Raises `FileNotRead`."""
    try:
        return _read(str(path), None, _OPEN_FLAGS & ~os.O_NOFOLLOW, str(path))
    except FileNotFoundError as error:
        raise FileMissing("it does not exist") from error
    except (OSError, ValueError) as error:
        raise FileNotRead(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error


def decoded_text(content: FileContent) -> str:
    """Decode UTF-8 or UTF-16, with invalid bytes escaped. Raises `FileNotRead` for a binary file."""
    data = content.data
    if content.is_cut and not data.startswith(_UTF16_BOMS) and b"\n" in data:
        data = data[: data.rindex(b"\n") + 1]
    if data.startswith(_UTF16_BOMS):
        text = data.decode("utf-16", "replace")
    elif b"\0" in data:
        raise FileNotRead("it is not text")
    else:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "backslashreplace")
    return text.replace("\r\n", "\n")


def _real_path(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path, strict=True))
    except FileNotFoundError as error:
        if path.is_symlink():
            raise FileNotRead("it is a dangling link") from error
        raise FileMissing("it does not exist") from error
    except NotADirectoryError as error:
        raise FileMissing("it does not exist") from error
    except (OSError, ValueError) as error:
        raise FileNotRead(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _open(stack: ExitStack, name: str, flags: int, parent: int | None) -> int:
    descriptor = os.open(name, flags, dir_fd=parent)
    stack.callback(os.close, descriptor)
    return descriptor


def _read(name: str, parent: int | None, flags: int, path: str) -> FileContent:
    # Checked before opening, too: opening some devices has side effects.
    _require_regular_file(os.stat(name, dir_fd=parent, follow_symlinks=not flags & os.O_NOFOLLOW))
    with os.fdopen(os.open(name, flags, dir_fd=parent), "rb") as file:
        status = os.fstat(file.fileno())
        _require_regular_file(status)
        data = file.read(MAX_BYTES)
    size = max(status.st_size, len(data))
    return FileContent(path=path, identity=(status.st_dev, status.st_ino), data=data, size=size)


def _require_regular_file(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise FileNotRead("it is not a plain file")
