"""Paths beneath a root: resolved by name first, then opened by descriptor without following links.

Resolving by name answers *where* a path leads. Opening by descriptor makes sure that what is opened is what was
resolved, even if a directory is swapped for a symbolic link in between. The root itself is held from the beginning.
"""

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from robota.workspace.problems import (
    InvalidPath,
    Missing,
    NotADirectory,
    NotARegularFile,
    NotPermitted,
    OutsideWorkspace,
    RootReplaced,
)

MAX_PATH_BYTES = 4096
MAX_NAME_BYTES = 255
OPENAT2 = 437  # system call number, the same on every architecture
RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08
OPENAT2_TRIES = 8
CLOSED = -1  # instead of a descriptor
DIRECTORY_HELD = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

SPECIAL_FILES = (
    (stat.S_ISFIFO, "named pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "character device"),
    (stat.S_ISBLK, "block device"),
)

Identity = tuple[int, int]  # device and inode number

# Opens a directory, given a descriptor of the root and a resolved path relative to it; follows no link.
DirectoryOpener = Callable[[int, str], int]


class HeldRoot:
    """An open directory, and the path it was opened by. The code that opens it must close it."""

    def __init__(self, path: Path) -> None:
        """`path` must be a real path. Raises `OSError` unless it is a directory that can be listed."""
        self.path = path
        self._descriptor = CLOSED
        self._descriptor = os.open(path, DIRECTORY_FLAGS)

    @property
    def descriptor(self) -> int:
        """The open directory. Raises `RootReplaced` if its path leads elsewhere by now."""
        self.check()
        return self._descriptor

    def check(self) -> None:
        """Raise `RootReplaced` if the path no longer leads to this directory, or it was closed."""
        if self._descriptor == CLOSED:
            raise RootReplaced(f"The session in {str(self.path)!r} is closed. Nothing was done. Resume it to go on.")
        try:
            named = self.path.stat(follow_symlinks=False)
        except OSError:
            named = None
        if named is None or not os.path.samestat(os.fstat(self._descriptor), named):
            raise RootReplaced(
                f"{str(self.path)!r} is no longer the directory in which this session began: it was moved, removed or "
                "replaced. Nothing was done. Put it back, or start Robota again in the directory you mean."
            )

    def close(self) -> None:
        """Close the directory. Idempotent; after that, it refuses to be used: its number may mean another file."""
        if self._descriptor != CLOSED:
            os.close(self._descriptor)
            self._descriptor = CLOSED

    def __del__(self) -> None:
        """Close it for a session that ended without being closed, because its event loop was stopped."""
        self.close()


def resolve_beneath(root: Path, path: str) -> Path:
    """The real path that `path` resolves to; `root` must itself be a real path."""
    _check_spelling(path)
    try:
        real = Path(os.path.realpath(root / path))
    except OSError as error:  # a link vanished while it was resolved
        raise InvalidPath(f"{path!r} cannot be resolved: {error.strerror}. Nothing was touched. Try again.") from error
    if not real.is_relative_to(root):
        raise OutsideWorkspace(
            f"{path!r} is outside the workspace {str(root)!r}. Nothing was touched. Use a path inside the workspace."
        )
    _check_fully_resolved(real, root, path)
    return real


def resolve_name_beneath(root: Path, path: str) -> Path:
    """The real path of a name: links in its directories are followed, a link at the end is not."""
    _check_spelling(path)
    parent, name = os.path.split(path)
    if name in ("", ".", ".."):
        return resolve_beneath(root, path)
    return resolve_beneath(root, parent or ".") / name


@contextmanager
def directory_beneath(
    root: Path, directory: Path, open_directory: DirectoryOpener, *, create: bool = False
) -> Iterator[int]:
    """Open `directory`, which must be a resolved path beneath `root`; yields its descriptor."""
    top = os.open(root, DIRECTORY_FLAGS)
    try:
        with directory_within(top, directory.relative_to(root), open_directory, create=create) as descriptor:
            yield descriptor
    finally:
        os.close(top)


@contextmanager
def directory_within(
    top: int, relative: Path, open_directory: DirectoryOpener, *, create: bool = False
) -> Iterator[int]:
    """Open a directory by its resolved path relative to an open one; yields its descriptor."""
    # Even the top is opened again: locks belong to an open file description, which a duplicate would share.
    at_top = relative == Path()
    descriptor = (
        os.open(".", DIRECTORY_FLAGS, dir_fd=top)
        if at_top
        else _open_or_make(top, str(relative), open_directory, create=create)
    )
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def walk_to_directory(root: int, relative: str) -> int:
    """Open one directory after the other without following links; works on every kernel."""
    descriptor = os.dup(root)
    for name in Path(relative).parts:
        try:
            deeper = os.open(name, DIRECTORY_FLAGS, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor


@cache
def best_opener() -> DirectoryOpener:
    """`openat2` where the kernel has it and no container forbids it, otherwise a walk without following links."""
    if sys.platform != "linux":
        return walk_to_directory
    directory = os.open("/", DIRECTORY_FLAGS)
    try:
        os.close(openat2(directory, "."))
    except OSError:
        return walk_to_directory
    finally:
        os.close(directory)
    return openat2_or_walk


def openat2_or_walk(root: int, relative: str) -> int:
    """Open a directory with `openat2`, which fails when names change at the same time; then with the walk."""
    for _ in range(OPENAT2_TRIES):
        try:
            return openat2(root, relative)
        except BlockingIOError:
            continue
    return walk_to_directory(root, relative)


def openat2(root: int, relative: str) -> int:
    """Open the directory; `OSError` if it does not exist or the path contains a link or `..`."""
    return _openat2_call()(root, os.fsencode(relative))


@cache
def _openat2_call() -> Callable[[int, bytes], int]:
    """The Linux system call that confines every step of a path."""
    # Importing ctypes takes longer than all of `robota --version`.
    import ctypes

    system_call = ctypes.CDLL(None, use_errno=True).syscall
    system_call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    system_call.restype = ctypes.c_long
    resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS
    # `struct open_how` of linux/openat2.h: flags, mode, resolve.
    how = (ctypes.c_uint64 * 3)(DIRECTORY_FLAGS, 0, resolve)

    def call(root: int, path: bytes) -> int:
        descriptor: int = system_call(OPENAT2, root, path, ctypes.byref(how), ctypes.sizeof(how))
        if descriptor >= 0:
            return descriptor
        code = ctypes.get_errno()
        # `OSError` picks the subclass for the code, so a missing directory raises FileNotFoundError.
        raise OSError(code, os.strerror(code), os.fsdecode(path))

    return call


@contextmanager
def system_errors_as_problems(path: str) -> Iterator[None]:
    """Turn system errors into a `FileProblem` that names the path as the caller wrote it."""
    try:
        yield
    except FileNotFoundError as error:
        raise Missing(f"{path!r} does not exist.") from error
    except NotADirectoryError as error:
        raise NotADirectory(f"{path!r}, or a part of it, is not a directory.") from error
    except OSError as error:
        raise NotPermitted(
            f"{path!r}: {error.strerror or error}. Nothing was changed. Check its permissions."
        ) from error


def identity_of(status: os.stat_result) -> Identity:
    """What stays the same while a file or directory keeps its place on the disk."""
    return status.st_dev, status.st_ino


def identity_at(path: Path) -> Identity | None:
    """The identity of what is at a path; None if there is nothing."""
    try:
        return identity_of(path.lstat())
    except OSError:
        return None


def check_regular(path: str, mode: int) -> None:
    """Raise `NotARegularFile` unless `mode` belongs to a regular file."""
    if not stat.S_ISREG(mode):
        raise not_regular(path, mode)


def not_regular(path: str, mode: int) -> NotARegularFile:
    """The error for a path that exists and is not a regular file."""
    if stat.S_ISDIR(mode):
        return NotARegularFile(f"{path!r} is a directory, not a file. Use list_files to see what is in it.")
    kind = next((word for test, word in SPECIAL_FILES if test(mode)), "special file")
    return NotARegularFile(f"{path!r} is a {kind}, not a regular file, and was not opened. Choose a file.")


def _check_spelling(path: str) -> None:
    if not path.strip():
        raise InvalidPath("The path is empty. Give a path relative to the workspace; '.' is the workspace itself.")
    if "\0" in path:
        raise InvalidPath("The path contains a NUL byte, which no file name can have. Give it without.")
    if path == "~" or path.startswith(("~/", "file://")):
        raise InvalidPath(f"{path!r} is not expanded. Give a plain path relative to the workspace.")
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise InvalidPath(f"{path!r} contains characters that no file name can have. Give it without them.") from error
    if len(encoded) > MAX_PATH_BYTES:
        raise InvalidPath(f"The path is {len(encoded)} bytes long; the limit is {MAX_PATH_BYTES}. Give a shorter one.")
    if any(len(name) > MAX_NAME_BYTES for name in encoded.split(b"/")):
        raise InvalidPath(
            f"A name in the path is longer than {MAX_NAME_BYTES} bytes, which no file name can be. Give a shorter one."
        )


def _check_fully_resolved(real: Path, root: Path, path: str) -> None:
    """Refuse a path that `realpath` could not resolve completely: it silently keeps what it cannot inspect."""
    for ancestor in (real, *real.parents):
        if ancestor == root:
            return
        try:
            is_link = stat.S_ISLNK(ancestor.lstat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise InvalidPath(f"{path!r} cannot be resolved: {error.strerror}. Choose another path.") from error
        if is_link:
            raise InvalidPath(f"{path!r} cannot be resolved: its symbolic links form a loop. Choose another path.")


def _open_or_make(root: int, relative: str, open_directory: DirectoryOpener, *, create: bool) -> int:
    try:
        return open_directory(root, relative)
    except FileNotFoundError:
        if not create:
            raise
    descriptor = os.dup(root)
    for name in Path(relative).parts:
        try:
            _make_directory(name, descriptor)
            deeper = os.open(name, DIRECTORY_FLAGS, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor


def _make_directory(name: str, parent: int) -> None:
    with suppress(FileExistsError):  # exists already; if it is not a directory, opening it fails
        os.mkdir(name, dir_fd=parent)
        os.fsync(parent)


def read_all(descriptor: int, size: int, max_bytes: int) -> bytes:
    """The content, or one byte more than allowed if there is more. The size is a hint only: /proc reports 0."""
    pieces: list[bytes] = []
    room = max_bytes + 1
    while room and (piece := os.read(descriptor, min(room, max(size + 1, 65_536)))):
        pieces.append(piece)
        room -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
