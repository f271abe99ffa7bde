"""Atomic writes: a file is replaced in one step and synced, so that readers see the old or the new, never a part."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
OLD_FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class Pieces(msgspec.Struct, frozen=True):
    """New content in pieces, most of them views of the old: megabytes need not be copied to be written.

    `bytes(pieces)` joins them.
    """

    parts: tuple[bytes | memoryview, ...]

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def __bytes__(self) -> bytes:
        return b"".join(self.parts)


Content = bytes | Pieces


def create_file(parent: int, name: str, data: Content) -> None:
    """A new file with the mode that the umask allows; `FileExistsError` if there is something by now."""
    with _draft(parent, data, 0o666) as (descriptor, draft):
        os.fsync(descriptor)
        try:
            os.link(draft, name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links: nothing was there a moment ago, so replace nothing
            os.rename(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
    os.fsync(parent)


def replace_file(parent: int, name: str, data: Content, before: os.stat_result) -> os.stat_result:
    """New content for the file that `before` describes, with the owner, mode and attributes of the old one.

    Says what the file is like afterwards.
    """
    # The old file may be private, so the draft starts private.
    with _draft(parent, data, 0o600) as (descriptor, draft):
        _copy_attributes(name, before, parent, descriptor)
        os.fsync(descriptor)
        os.rename(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
        after = os.fstat(descriptor)
    os.fsync(parent)
    return after


@contextmanager
def _draft(parent: int, data: Content, mode: int) -> Iterator[tuple[int, str]]:
    """A complete file under a name of its own, beside the one it shall become. What is left of it is removed."""
    name = f".robota-{os.urandom(8).hex()}.tmp"
    descriptor = os.open(name, CREATE_FLAGS, mode, dir_fd=parent)
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            for part in (data,) if isinstance(data, bytes) else data.parts:
                _write_all(file.fileno(), part)
            yield file.fileno(), name
    finally:
        with suppress(OSError):
            os.unlink(name, dir_fd=parent)


def _write_all(descriptor: int, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _copy_attributes(name: str, before: os.stat_result, parent: int, draft: int) -> None:
    with suppress(PermissionError):  # only root may give a file away; the content matters more
        os.fchown(draft, before.st_uid, before.st_gid)
    if sys.platform == "linux":
        with suppress(OSError):  # labels and access lists: kept where the file system lets us
            _copy_extended_attributes(name, parent, draft)
    os.fchmod(draft, stat.S_IMODE(before.st_mode))


def _copy_extended_attributes(name: str, parent: int, draft: int) -> None:
    old = os.open(name, OLD_FILE_FLAGS, dir_fd=parent)
    try:
        for attribute in os.listxattr(old):
            os.setxattr(draft, attribute, os.getxattr(old, attribute))
    finally:
        os.close(old)
