"""Atomic writes: a file is replaced in one step and synced, so that readers see the old or the new, never a part.

Sessions on one machine lock the directory from the last look at a file to its replacement. Against editors that do not
lock, what is replaced is looked at once more after it was taken out, and put back if it is not what was expected
(`safe_replace.py`).

For a moment the new or the old content has a name of its own: in a directory for `drafts` where there is one, so that
what a process leaves that is killed in this moment can be found (`drafts.py`). All this is imported only to write.
"""

import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

import msgspec

from robota.workspace.files.directory_lock import directory_lock

CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
STALE_S = 15 * 60
MANY_PARTS = 64
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
    with _draft(parent, data, 0o666) as (file, draft):
        os.fsync(file)
        try:
            if _is_unnamed(file.fileno()):
                _give_name(file.fileno(), name, parent)
            else:
                os.link(draft, name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links: nothing was there a moment ago, so replace nothing
            os.rename(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
    os.fsync(parent)


def replace_file(
    parent: int, name: str, data: Content, look: Callable[[], os.stat_result], drafts: int | None = None
) -> os.stat_result:
    """New content for a file that exists, with the owner, mode and attributes of the old one.

    `look` is called under the lock of the directory: it says what the old file is like, or raises if it must not be
    replaced. `Overtaken` if it is another one in the very moment of the exchange, `NotPermitted` if another program
    keeps it open for writing. Says what the new file is like.
    """
    from robota.workspace.files.drafts import draft_name
    from robota.workspace.files.open_for_writing import wait_until_closed
    from robota.workspace.files.safe_replace import is_same_version, safe_replace

    # The old file may be private, so the draft starts private.
    with _draft(parent, data, 0o600) as (file, draft):
        os.fsync(file)
        with directory_lock(parent):
            wait_until_closed(parent, name)
            before = look()
            _copy_attributes(name, before, parent, file.fileno())
            ours = os.fstat(file.fileno())
            around, named = _named_draft(file.fileno(), draft, parent, drafts, draft_name(ours, before))
            # Closed, so that whoever has it open for writing from now on is somebody else.
            file.close()
            safe_replace(around, named, parent, name, before)
            after = os.lstat(name, dir_fd=parent)
    os.fsync(parent)
    return after if is_same_version(after, ours) else ours


def remove_file(parent: int, name: str, look: Callable[[], os.stat_result], drafts: int | None = None) -> None:
    """Delete a file or a link by its name. `look` and the problems are as for `replace_file`."""
    from robota.workspace.files.open_for_writing import wait_until_closed
    from robota.workspace.files.safe_replace import safe_remove

    with directory_lock(parent):
        wait_until_closed(parent, name)
        safe_remove(parent, name, look(), drafts)
    os.fsync(parent)


def _named_draft(descriptor: int, draft: str, parent: int, drafts: int | None, name: str) -> tuple[int, str]:
    """The draft under a name that says what it is and replaces; and the directory in which it has that name."""
    if not _is_unnamed(descriptor):
        os.rename(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
        return parent, name
    if drafts is not None:
        with suppress(OSError):  # on another file system
            _give_name(descriptor, name, drafts)
            return drafts, name
    _give_name(descriptor, name, parent)
    return parent, name


@contextmanager
def _draft(parent: int, data: Content, mode: int) -> Iterator[tuple[io.FileIO, str]]:
    """A complete file beside the one it shall become, and the name that it has or can be given.

    It has none where the system can do that, so that nothing stays if we are killed. What is left of it is removed.
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
        with suppress(OSError):  # not every file system has files without names
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
    """Remove what a process that was killed in the middle of a write, long ago, left in an open directory."""
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
    """Each part is a system call, so many small ones are joined."""
    if isinstance(data, bytes):
        return (data,)
    return data.parts if len(data.parts) <= MANY_PARTS else (bytes(data),)


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
