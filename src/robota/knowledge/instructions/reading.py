"""Reading one instruction file: plain files only, no more than is needed, and nothing outside the project for it."""

import codecs
import os
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

MOST_BYTES: Final = 64 * 1024
_LOOK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_DISK: Final = (("proc",), ("sys",), ("dev",))
_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class FileNotRead(Exception):
    """The file was not read. The text says why."""


class FileNotThere(FileNotRead):
    """There is no such file."""


class FileOutside(FileNotRead):
    """The file lies outside of the project that it is read for. `path` is where."""

    def __init__(self, path: str) -> None:
        super().__init__("it lies outside the project")
        self.path = path


class FileContent(msgspec.Struct, frozen=True, kw_only=True):
    """The beginning of a file, the whole of most; `identity` is the same for the same file under another name."""

    path: str
    identity: tuple[int, int]
    data: bytes
    size: int

    @property
    def is_cut(self) -> bool:
        return self.size > len(self.data)


def read_in_project(path: Path, top: Path) -> FileContent:
    """A file below `top`. A link may lead to another file below it; that one is then opened without any link."""
    straight = _without_links(path, top)
    return _by_real_path(_real(path), top) if straight is None else straight


def _without_links(path: Path, top: Path) -> FileContent | None:
    """A file to which no link leads, as mostly. None if it is not there as that, or lies elsewhere."""
    try:
        return _below(top, path.relative_to(top).parts, str(path))
    except (OSError, ValueError, FileNotRead):
        return None


def _by_real_path(real: Path, top: Path) -> FileContent:
    try:
        steps = real.relative_to(top).parts
    except ValueError:
        raise FileOutside(str(real)) from None
    try:
        return _below(top, steps, str(real))
    except OSError as error:
        raise FileNotRead(f"it cannot be read: {error.strerror}") from error


def _below(top: Path, steps: tuple[str, ...], path: str) -> FileContent:
    """The file at the end of these steps, none of which may be a link."""
    if not steps or ".git" in steps or ".." in steps:
        raise FileNotRead("it is no file of the project")
    with ExitStack() as opened:
        parent = _opened(opened, str(top), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, None)
        for step in steps[:-1]:
            parent = _opened(opened, step, _LOOK | os.O_DIRECTORY, parent)
        return _read(steps[-1], parent, _LOOK, path)


def read_outside(path: str) -> FileContent:
    """A file that a project leads to, by its real path; not one of those that the kernel makes up."""
    if Path(path).parts[1:2] in _NO_DISK:
        raise FileNotRead("it is no file on a disk")
    try:
        return _read(path, None, _LOOK, path)
    except OSError as error:
        raise FileNotRead(f"it cannot be read: {error.strerror}") from error


def read_of_person(path: Path) -> FileContent:
    """A file of the person's own, who may set links as they like."""
    try:
        return _read(str(path), None, _LOOK & ~os.O_NOFOLLOW, str(path))
    except FileNotFoundError as error:
        raise FileNotThere("it is not there") from error
    except (OSError, ValueError) as error:
        raise FileNotRead(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error


def text_of(content: FileContent) -> str:
    """What a file says, whatever its encoding; bytes that are no text in it are spelled out."""
    data = content.data
    if content.is_cut and not data.startswith(_WIDE) and b"\n" in data:
        data = data[: data.rindex(b"\n") + 1]
    if data.startswith(_WIDE):
        text = data.decode("utf-16", "replace")
    elif b"\0" in data:
        raise FileNotRead("it is no text")
    else:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "backslashreplace")
    return text.replace("\r\n", "\n")


def _real(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path, strict=True))
    except FileNotFoundError as error:
        if path.is_symlink():
            raise FileNotRead("it is a link that leads nowhere") from error
        raise FileNotThere("it is not there") from error
    except NotADirectoryError as error:
        raise FileNotThere("it is not there") from error
    except (OSError, ValueError) as error:
        raise FileNotRead(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _opened(stack: ExitStack, name: str, flags: int, parent: int | None) -> int:
    descriptor = os.open(name, flags, dir_fd=parent)
    stack.callback(os.close, descriptor)
    return descriptor


def _read(name: str, parent: int | None, flags: int, path: str) -> FileContent:
    # Looked at before it is opened: opening some devices does something.
    _require_plain(os.stat(name, dir_fd=parent, follow_symlinks=not flags & os.O_NOFOLLOW))
    with os.fdopen(os.open(name, flags, dir_fd=parent), "rb") as file:
        status = os.fstat(file.fileno())
        _require_plain(status)
        data = file.read(MOST_BYTES)
    size = max(status.st_size, len(data))
    return FileContent(path=path, identity=(status.st_dev, status.st_ino), data=data, size=size)


def _require_plain(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise FileNotRead("it is not a plain file")
