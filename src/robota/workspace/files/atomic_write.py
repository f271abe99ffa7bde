"""Atomic writes: a file is replaced in one step and synced, so that readers see the old or the new, never a part.

Sessions on one machine lock the directory from the last check of a file to its replacement. Editors take no lock, so
the replaced version is checked once more after it was taken out, and put back if it is not the expected one
(`safe_replace.py`).

For a moment the new or the old content has a temporary name: in the directory for `drafts` if there is one, so that the
leftovers of a killed process can be found (`drafts.py`). These modules are imported only to write.
"""

import errno
import fcntl
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

import msgspec

from robota.config.durable_file import lock_in_time
from robota.workspace.problems import NotPermitted

# Some network file systems have no locks; only the second check protects files there.
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
STALE_S = 15 * 60
MANY_PARTS = 64
OLD_FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class Pieces(msgspec.Struct, frozen=True):
    """New content in pieces, most of them views of the old content, so that large files are not copied in memory.

    `bytes(pieces)` joins them.
    """

    parts: tuple[bytes | memoryview, ...]

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def __bytes__(self) -> bytes:
        return b"".join(self.parts)


Content = bytes | Pieces


def create_file(parent: int, name: str, data: Content) -> None:
    """Create a file with the mode that the umask allows; `FileExistsError` if the name is taken."""
    with _draft(parent, data, 0o666) as (file, draft):
        os.fsync(file)
        try:
            if _is_unnamed(file.fileno()):
                _give_name(file.fileno(), name, parent)
            else:
                os.link(draft, name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:  # no hard links on this file system; the name was free a moment ago
            os.rename(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
    os.fsync(parent)


def replace_file(
    parent: int, name: str, data: Content, look: Callable[[], os.stat_result], drafts: int | None = None
) -> os.stat_result:
    """Replace the content of an existing file, keeping owner, mode and attributes; returns the status of the new file.

    `look` is called under the lock of the directory: it returns the status of the old file, or raises if that must not
    be replaced. `Overtaken` if another program changes the file at the moment of the exchange, `NotPermitted` if one
    keeps it open for writing.
    """
    from robota.workspace.files.drafts import draft_name
    from robota.workspace.files.open_for_writing import wait_until_closed
    from robota.workspace.files.safe_replace import is_same_version, safe_replace

    # The old file may be private, so the draft starts private.
    with _draft(parent, data, 0o600) as (file, draft):
        os.fsync(file)
        with _locked(parent):
            wait_until_closed(parent, name)
            before = look()
            _copy_attributes(name, before, parent, file.fileno())
            ours = os.fstat(file.fileno())
            around, named = _named_draft(file.fileno(), draft, parent, drafts, draft_name(ours, before))
            # Closed, so that any program that has it open for writing from now on is not us.
            file.close()
            safe_replace(around, named, parent, name, before)
            after = os.lstat(name, dir_fd=parent)
    os.fsync(parent)
    return after if is_same_version(after, ours) else ours


def remove_file(parent: int, name: str, look: Callable[[], os.stat_result], drafts: int | None = None) -> None:
    """Delete a file or a link by its name. `look` and the errors are as for `replace_file`."""
    from robota.workspace.files.open_for_writing import wait_until_closed
    from robota.workspace.files.safe_replace import safe_remove

    with _locked(parent):
        wait_until_closed(parent, name)
        safe_remove(parent, name, look(), drafts)
    os.fsync(parent)


def _named_draft(descriptor: int, draft: str, parent: int, drafts: int | None, name: str) -> tuple[int, str]:
    """Give the draft a name that encodes what it replaces; returns its directory and name."""
    if not _is_unnamed(descriptor):
        os.rename(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
        return parent, name
    if drafts is not None:
        with suppress(OSError):  # a different file system
            _give_name(descriptor, name, drafts)
            return drafts, name
    _give_name(descriptor, name, parent)
    return parent, name


@contextmanager
def _draft(parent: int, data: Content, mode: int) -> Iterator[tuple[io.FileIO, str]]:
    """A complete draft in the directory of its target, and the name that it has or can be given.

    Where the system supports it, the draft has no name yet, so that nothing is left if we are killed.
    """
    from robota.workspace.files.drafts import draft_name

    name = draft_name()
    with io.FileIO(_opened_draft(parent, name, mode), "wb") as file:
        try:
            for part in _few_parts(data):
                _write_all(file.fileno(), part)
            yield file, name
        finally:
            with suppress(OSError):
                os.unlink(name, dir_fd=parent)


def _opened_draft(parent: int, name: str, mode: int) -> int:
    if _can_be_named_later():
        with suppress(OSError):  # not every file system supports unnamed files
            return os.open(".", os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, mode, dir_fd=parent)
    return os.open(name, CREATE_FLAGS, mode, dir_fd=parent)


@cache
def _can_be_named_later() -> bool:
    return sys.platform == "linux" and os.access("/proc/self/fd", os.X_OK)


def _is_unnamed(descriptor: int) -> bool:
    return os.fstat(descriptor).st_nlink == 0


def _give_name(descriptor: int, name: str, parent: int) -> None:
    os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=parent, follow_symlinks=True)


def remove_stale_drafts(directory: int, now: float) -> None:
    """Remove the old drafts that killed processes left in an open directory."""
    from robota.workspace.files.drafts import BEGINNING, may_be_removed

    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if not entry.name.startswith(BEGINNING):
                continue
            status = entry.stat(follow_symlinks=False)
            if may_be_removed(entry.name, status) and status.st_mtime < now - STALE_S:
                with suppress(OSError):
                    os.unlink(entry.name, dir_fd=directory)


def _few_parts(data: Content) -> tuple[bytes | memoryview, ...]:
    """Join many small parts into one, because each part costs a system call."""
    if isinstance(data, bytes):
        return (data,)
    return data.parts if len(data.parts) <= MANY_PARTS else (bytes(data),)


def _write_all(descriptor: int, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _copy_attributes(name: str, before: os.stat_result, parent: int, draft: int) -> None:
    with suppress(PermissionError):  # only root may change the owner; the content matters more
        os.fchown(draft, before.st_uid, before.st_gid)
    if sys.platform == "linux":
        with suppress(OSError):  # security labels and ACLs, where the file system supports them
            _copy_extended_attributes(name, parent, draft)
    os.fchmod(draft, stat.S_IMODE(before.st_mode))


def _copy_extended_attributes(name: str, parent: int, draft: int) -> None:
    old = os.open(name, OLD_FILE_FLAGS, dir_fd=parent)
    try:
        for attribute in os.listxattr(old):
            os.setxattr(draft, attribute, os.getxattr(old, attribute))
    finally:
        os.close(old)


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    """Hold the lock of an open directory, from the last check of a file until it is replaced.

    Raises `NotPermitted` if another process holds it for too long.
    """
    is_held = _lock(descriptor)
    try:
        yield
    finally:
        if is_held:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def _lock(descriptor: int) -> bool:
    try:
        lock_in_time(descriptor)
    except BlockingIOError as error:
        raise NotPermitted(f"The directory: {error.strerror}. Nothing was changed. Try again.") from error
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        raise
    return True
