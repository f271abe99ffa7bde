"""Byte-exact files beneath one root."""

import os
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from robota.workspace.beneath import directory_beneath, resolve_beneath, system_errors_as_problems
from robota.workspace.listing import Listing, list_directory
from robota.workspace.problems import NotADirectory, NotARegularFile, NotPermitted, TooBig

READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class FileData(msgspec.Struct, frozen=True, kw_only=True):
    """The whole content of a file; `path` is its real path."""

    path: Path
    data: bytes


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What a write did. `separated_links` counts other hard links, which still hold the old content."""

    path: Path
    created: bool
    separated_links: int = 0


class Files:
    """The files beneath `root`. No path leads out of it, neither by `..` nor through a symbolic link."""

    def __init__(self, root: Path) -> None:
        self._root = Path(os.path.realpath(root))

    @property
    def root(self) -> Path:
        return self._root

    def resolve(self, path: str) -> Path:
        """The real path beneath the root that `path` means, whether or not something is there."""
        return resolve_beneath(self._root, path)

    def relative(self, path: str) -> str:
        """The same as seen from the root, for showing to people."""
        return str(self.resolve(path).relative_to(self._root))

    def read(self, path: str, max_bytes: int) -> FileData:
        """The content of a regular file of at most `max_bytes`."""
        real = self.resolve(path)
        if real == self._root:
            raise _not_regular(path, os.lstat(real).st_mode)
        with system_errors_as_problems(path), directory_beneath(self._root, real.parent) as parent:
            _check_regular(path, os.lstat(real.name, dir_fd=parent).st_mode)
            # O_NONBLOCK: should a pipe take the file's place just now, opening it must not hang.
            with os.fdopen(os.open(real.name, READ_FLAGS, dir_fd=parent), "rb") as file:
                status = os.fstat(file.fileno())
                _check_regular(path, status.st_mode)
                if status.st_size > max_bytes:
                    raise _too_big(path, status.st_size, max_bytes)
                data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise _too_big(path, len(data), max_bytes)
        return FileData(path=real, data=data)

    def write(self, path: str, data: bytes) -> Written:
        """Replace the whole file at once; readers see the old or the new content, never a part."""
        real = self.resolve(path)
        if real == self._root:
            raise _not_regular(path, os.lstat(real).st_mode)
        with system_errors_as_problems(path), directory_beneath(self._root, real.parent, create=True) as parent:
            before = _status_for_writing(path, real.name, parent)
            _replace(real.name, parent, data, before)
        return Written(path=real, created=before is None, separated_links=before.st_nlink - 1 if before else 0)

    def list(self, path: str, recursive: bool, limit: int) -> Listing:
        """What is in a directory, in tree order, at most `limit` entries."""
        real = self.resolve(path)
        with system_errors_as_problems(path), directory_beneath(self._root, real) as directory:
            return list_directory(directory, recursive=recursive, limit=limit)

    def directory(self, path: str) -> Path:
        """The real path of a directory that exists."""
        real = self.resolve(path)
        if not real.is_dir():
            raise NotADirectory(f"{path!r} is not an existing directory.")
        return real


def _status_for_writing(path: str, name: str, parent: int) -> os.stat_result | None:
    try:
        status = os.lstat(name, dir_fd=parent)
    except FileNotFoundError:
        return None
    _check_regular(path, status.st_mode)
    if not status.st_mode & 0o222 or not os.access(name, os.W_OK, dir_fd=parent):
        raise NotPermitted(f"{path!r} is write-protected. It was not changed. Ask the person before changing its mode.")
    return status


def _replace(name: str, parent: int, data: bytes, before: os.stat_result | None) -> None:
    draft = f".robota-{os.urandom(8).hex()}.tmp"
    # A file that exists may be private, so its draft starts private; a new one gets what the umask allows.
    descriptor = os.open(draft, CREATE_FLAGS, 0o666 if before is None else 0o600, dir_fd=parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if before is not None:
                _copy_owner_and_mode(before, file.fileno())
            os.fsync(file.fileno())
        os.rename(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=parent)
        raise
    os.fsync(parent)


def _copy_owner_and_mode(before: os.stat_result, descriptor: int) -> None:
    with suppress(PermissionError):  # only root may give a file away; the content matters more
        os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def _check_regular(path: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise _not_regular(path, mode)


def _not_regular(path: str, mode: int) -> NotARegularFile:
    if stat.S_ISDIR(mode):
        return NotARegularFile(f"{path!r} is a directory, not a file. Use list_files to see what is in it.")
    kind = next((word for test, word in SPECIAL_FILES if test(mode)), "special file")
    return NotARegularFile(f"{path!r} is a {kind}, not a regular file, and was not opened.")


def _too_big(path: str, size: int, limit: int) -> TooBig:
    return TooBig(
        f"{path!r} has {size:,} bytes or more; at most {limit:,} can be read at once. Read a part with a command."
    )


SPECIAL_FILES = (
    (stat.S_ISFIFO, "named pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "character device"),
    (stat.S_ISBLK, "block device"),
)
