"""Atomic writes: a file is replaced in one step and synced, so that readers see the old or the new, never a part.

Sessions on one machine lock the directory from the last look at a file to its replacement. Against editors that do not
lock, what is replaced is looked at once more after it was taken out, and put back if it is not what was expected.

For a moment the new or the old content has a name of its own: in a directory for `drafts` where there is one, so that
what a process leaves that is killed in this moment can be found (`drafts.py`).
"""

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

import msgspec

from robota.workspace.files.directory_lock import directory_lock
from robota.workspace.files.exchange_names import exchange_names

CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
EXCHANGE_TRIES = 8
DRAFT = re.compile(r"\.robota-[0-9a-f]{16}\.tmp")
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


class Overtaken(Exception):
    """Somebody who does not lock changed the file at the last moment. It was left as they made it."""


def create_file(parent: int, name: str, data: Content) -> None:
    """A new file with the mode that the umask allows; `FileExistsError` if there is something by now."""
    with _draft(parent, data, 0o666) as (descriptor, draft):
        os.fsync(descriptor)
        try:
            if _is_unnamed(descriptor):
                _give_name(descriptor, name, parent)
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
    replaced. `Overtaken` if it is another one in the very moment of the exchange. Says what the new file is like.
    """
    # The old file may be private, so the draft starts private.
    with _draft(parent, data, 0o600) as (descriptor, draft):
        os.fsync(descriptor)
        with directory_lock(parent):
            before = look()
            _copy_attributes(name, before, parent, descriptor)
            around = parent
            if _is_unnamed(descriptor):
                around = _give_name_to_draft(descriptor, draft, parent, drafts)
            try:
                _exchange(around, draft, parent, name, before)
            finally:
                with suppress(OSError):
                    os.unlink(draft, dir_fd=around)
            after = os.fstat(descriptor)
    os.fsync(parent)
    return after


def remove_file(parent: int, name: str, look: Callable[[], os.stat_result], drafts: int | None = None) -> None:
    """Delete a file or a link by its name. `look` and `Overtaken` are as for `replace_file`."""
    aside = draft_name()
    with directory_lock(parent):
        before = look()
        around = _move_aside(parent, name, aside, drafts)
        if not _is_same(os.lstat(aside, dir_fd=around), before):
            with suppress(FileExistsError):  # they have written it once more: that one counts
                os.link(aside, name, src_dir_fd=around, dst_dir_fd=parent, follow_symlinks=False)
            os.unlink(aside, dir_fd=around)
            raise Overtaken
        os.unlink(aside, dir_fd=around)
    os.fsync(parent)


def _move_aside(parent: int, name: str, aside: str, drafts: int | None) -> int:
    """Give the file another name; the directory in which it has that one now."""
    if drafts is not None:
        with suppress(OSError):  # on another file system
            os.rename(name, aside, src_dir_fd=parent, dst_dir_fd=drafts)
            return drafts
    os.rename(name, aside, src_dir_fd=parent, dst_dir_fd=parent)
    return parent


def _give_name_to_draft(descriptor: int, draft: str, parent: int, drafts: int | None) -> int:
    """The directory in which it has one now."""
    if drafts is not None:
        with suppress(OSError):  # on another file system
            _give_name(descriptor, draft, drafts)
            return drafts
    _give_name(descriptor, draft, parent)
    return parent


def _exchange(around: int, draft: str, parent: int, name: str, before: os.stat_result) -> None:
    """Let draft and file change places, so that what was taken out can be looked at before it is gone."""
    ours = os.lstat(draft, dir_fd=around).st_ino
    if not exchange_names(around, draft, name, parent):
        if not _is_same(os.lstat(name, dir_fd=parent), before):
            raise Overtaken
        os.rename(draft, name, src_dir_fd=around, dst_dir_fd=parent)
        return
    if _is_same(os.lstat(draft, dir_fd=around), before):
        return
    for _ in range(EXCHANGE_TRIES):
        exchange_names(around, draft, name, parent)
        if os.lstat(draft, dir_fd=around).st_ino == ours:
            break
    raise Overtaken


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    # The time of the last status change is not compared: renaming sets it.
    return (one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns) == (
        other.st_ino,
        other.st_mode,
        other.st_size,
        other.st_mtime_ns,
    )


@contextmanager
def _draft(parent: int, data: Content, mode: int) -> Iterator[tuple[int, str]]:
    """A complete file beside the one it shall become, and the name that it has or can be given.

    It has none where the system can do that, so that nothing stays if we are killed. What is left of it is removed.
    """
    name = draft_name()
    descriptor = _opened_draft(parent, name, mode)
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            for part in _few_parts(data):
                _write_all(file.fileno(), part)
            yield file.fileno(), name
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
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if DRAFT.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_mtime < now - STALE_S:
                with suppress(OSError):
                    os.unlink(entry.name, dir_fd=directory)


def _few_parts(data: Content) -> tuple[bytes | memoryview, ...]:
    """Each part is a system call, so many small ones are joined."""
    if isinstance(data, bytes):
        return (data,)
    return data.parts if len(data.parts) <= MANY_PARTS else (bytes(data),)


def draft_name() -> str:
    """A name that nobody else takes, by which a draft is known."""
    return f".robota-{os.urandom(8).hex()}.tmp"


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
