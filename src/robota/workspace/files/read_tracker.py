"""Tracks the version of each file that the model last read or wrote, and that the user has not saved."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from robota.workspace.files.atomic_write import Content
from robota.workspace.files.confined_paths import check_regular
from robota.workspace.problems import FileChanged, NotPermitted, NotRead, Overtaken, changed_just_now

# Files up to this size are always compared by content; larger ones only if their stamp changed.
SMALL = 1024 * 1024

Stamp = tuple[int, ...]
# Python's own keyed 64-bit hash: it never leaves the process, and is three times as fast as SHA-256.
Digest = tuple[int, int]


class FileState(msgspec.Struct, frozen=True):
    """A file as it was last read or written. It has no digest if it is large and was just written, or if it is known
    only from an earlier process.
    """

    stamp: Stamp | None
    digest: Digest | None


class ReadTracker:
    """Keeps the version of each file that the model knows, so that newer content is not overwritten by mistake."""

    def __init__(self) -> None:
        self._files: dict[Path, FileState] = {}

    def note_read(self, real: Path, data: bytes, stamp: Stamp) -> None:
        """Record that the model has read this content."""
        self._files[real] = FileState(stamp, _digest(data))

    def note_written(self, real: Path, data: Content, stamp: Stamp | None) -> None:
        """Record that the model has written this content."""
        is_enough = stamp is not None and len(data) > SMALL
        self._files[real] = FileState(stamp, None if is_enough else _digest(bytes(data)))

    def recall(self, real: Path, stamp: Stamp) -> None:
        """Record that the model knew the file in an earlier process, when it had this stamp."""
        self._files[real] = FileState(stamp, None)

    def forget(self, real: Path) -> None:
        """Record that the file is gone."""
        self._files.pop(real, None)

    def forget_all(self) -> None:
        """Record that the model knows no file any more."""
        self._files.clear()

    def changed(self) -> Iterator[tuple[Path, Stamp]]:
        """Each file whose inode, size or modification time changed, with its new stamp; empty if it is gone."""
        for real, state in list(self._files.items()):
            now = stamp_at(real)
            if state.stamp is not None and now[1:4] != state.stamp[1:4]:
                yield real, now

    def check(self, path: str, real: Path, data: bytes, stamp: Stamp, *, required: bool) -> None:
        """Raise `FileChanged` if the model knows other content; if `required`, `NotRead` if it knows none."""
        state = self._files.get(real)
        if state is None:
            if required:
                raise NotRead(
                    f"{path!r} exists and has not been read in this session. It was not changed. Read it with "
                    "read_file first, then decide what to write."
                )
            return
        if state.stamp == stamp and (state.digest is None or len(data) > SMALL):
            return
        if state.digest != _digest(data):
            raise FileChanged(
                f"{path!r} has changed since it was last read. It was not changed. Read it again with read_file, then "
                "repeat the edit on its current content."
            )


class UnsavedBuffers:
    """The files with changes that the user has not saved, as their editor has them, by their real path.

    What is written to one waits until the editor has it.
    """

    def __init__(self) -> None:
        self._contents: dict[Path, bytes] = {}
        self._written: dict[Path, tuple[bytes, bytes]] = {}

    def note(self, real: Path, content: bytes | None) -> None:
        """Note what the editor has; None if that is what is on disk, or if it has nothing."""
        if content is None:
            self._contents.pop(real, None)
        else:
            self._contents[real] = content

    def get(self, real: Path) -> bytes | None:
        """The unsaved content of a file; None if the content on disk counts."""
        return self._contents.get(real)

    def write(self, real: Path, content: bytes) -> None:
        """Replace the content of a buffer."""
        before, _ = self._written.get(real, (self._contents[real], b""))
        self._written[real] = (before, content)
        self._contents[real] = content

    def take_written(self) -> dict[Path, tuple[bytes, bytes]]:
        """What was written to buffers since the last time: the content before and after."""
        written, self._written = self._written, {}
        return written


def stamp_of(status: os.stat_result) -> Stamp:
    """Device, inode, size, modification time and status change time."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def stamp_at(real: Path) -> Stamp:
    """The stamp of what is at the path now; empty if nothing is, or if it cannot be inspected."""
    try:
        return stamp_of(os.lstat(real))
    except OSError:
        return ()


def _digest(data: bytes) -> Digest:
    return len(data), hash(data)


def expected_status(path: str, name: str, parent: int, stamp: Stamp | None, *, is_link: bool = False) -> os.stat_result:
    """The status of the file or link, if it still has this stamp; without one, any that exists."""
    status: os.stat_result | None
    status = os.lstat(name, dir_fd=parent) if is_link else status_for_writing(path, name, parent)
    check_unchanged(path, status, stamp)
    if status is None:
        raise Overtaken
    return status


def check_unchanged(path: str, before: os.stat_result | None, stamp: Stamp | None) -> None:
    """Raise `FileChanged` if the file does not have this stamp any more."""
    if stamp is not None and (before is None or stamp_of(before) != stamp):
        raise changed_just_now(path)


def status_for_writing(path: str, name: str, parent: int) -> os.stat_result | None:
    """The status of a file that may be replaced; None if there is none."""
    try:
        status = os.lstat(name, dir_fd=parent)
    except FileNotFoundError:
        return None
    check_regular(path, status.st_mode)
    if not status.st_mode & 0o222 or not os.access(name, os.W_OK, dir_fd=parent):
        raise NotPermitted(f"{path!r} is write-protected. It was not changed. Ask the user before changing its mode.")
    return status
