"""A copy of git data for one command: the command changes the copy, and verified data is written back afterwards.

Inside the sandbox the copy is mounted in place of the git directory, with everything that is not data read-only on top;
existing objects are only read. So the real git directory is never writable from inside, and whatever a hook or another
program leaves there besides data is discarded.
"""

import os
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.files.remove_tree import remove_tree
from robota.workspace.git.abandoned_copies import PREFIX, STATE, CopyState, encoded, lock_copy
from robota.workspace.git.data_names import INDEX, LOGS, OBJECTS, OF_REPOSITORY, OF_WORKING_TREE, REFS, TREES
from robota.workspace.git.git_directories import GitDirectories
from robota.workspace.git.hidden_entries import with_marks
from robota.workspace.git.index_gitlinks import UnreadableIndex
from robota.workspace.git.write_back import CopiedDirectory, Stamp, stamp

# Where the existing objects are mounted inside the sandbox.
EARLIER_OBJECTS: Final = "objects-before"
MOST_FILES: Final = 5000
MOST_BYTES: Final = 512 << 20
# Formats with their own rules for writing, or with more than one file.
UNKNOWN_STORES: Final = ("reftable", "sharedindex.")
# Housekeeping would run beside the command and be killed with it; packs cannot be verified object by object.
SETTINGS: Final = {
    "gc.auto": "0",
    "maintenance.auto": "false",
    "core.splitIndex": "false",
    "transfer.unpackLimit": "1000000",
    "core.bigFileThreshold": "4g",
}


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """What is mounted at a path inside the sandbox."""

    source: Path
    target: Path
    writable: bool = False


class NotCopied(Exception):
    """The data of this repository cannot be copied; a command that needs it runs like any other."""


class GitDataCopy:
    """Made before a command starts. `keep` writes its results back, once; `discard` must follow."""

    def __init__(self, directories: GitDirectories, hidden: tuple[Path, ...] = ()) -> None:
        """`hidden` are paths in the working tree that the command does not see. Raises `NotCopied`."""
        self._hidden = tuple(
            str(place.relative_to(directories.top)) for place in hidden if place.is_relative_to(directories.top)
        )
        self._directories = directories
        # A caller that gave up waiting for `keep`, which runs in a thread, must not remove the copy while it is used.
        self._in_use = threading.Lock()
        self._place = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = lock_copy(self._place)
        self._state: CopyState | None = None
        try:
            if self._lock is None or self._place.is_relative_to(directories.top):
                raise NotCopied("there is no place for the copy that commands cannot reach")
            copied, self.mounts = self._copy()
            self._state = CopyState(directories=directories, copied=copied)
            (self._place / STATE).write_bytes(encoded(self._state))
        except (OSError, ValueError, UnreadableIndex) as error:
            self.discard()
            raise NotCopied(str(error)) from error
        except BaseException:
            self.discard()
            raise

    def keep(self) -> tuple[str, ...]:
        """Write the command's results back. Returns a sentence for each thing that was not."""
        with self._in_use:
            state, self._state = self._state, None
            return () if state is None else state.take_over()

    def discard(self) -> None:
        """Remove the copy after it was written back. Calling it twice is harmless."""
        with self._in_use:
            self._state = None
            remove_tree(self._place)
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    def _copy(self) -> tuple[tuple[CopiedDirectory, ...], tuple[Mount, ...]]:
        own, common = self._directories.own, self._directories.common
        if not self._directories.is_worktree:
            only = _copied(own, self._place / "own", OF_WORKING_TREE | OF_REPOSITORY, self._hidden)
            return (only,), tuple(_mounts(only, holds_objects=True))
        shared = _copied(common, self._place / "common", OF_REPOSITORY)
        single = _copied(own, self._place / "own", OF_WORKING_TREE, self._hidden)
        # The git directory of a worktree is inside that of the repository, so it is mounted later, on top.
        return (single, shared), (*_mounts(shared, holds_objects=True), *_mounts(single, holds_objects=False))


def _copied(real: Path, copy: Path, names: frozenset[str], hidden: tuple[str, ...] = ()) -> CopiedDirectory:
    copy.mkdir()
    stamps: dict[str, Stamp] = {}
    left = MOST_BYTES
    for name in (*sorted(names), *(name for tree in TREES for name in _files_below(real, tree, copy))):
        source = real / name
        with suppress(FileNotFoundError):
            status = source.lstat()
            if not stat.S_ISREG(status.st_mode):
                raise NotCopied(f"{name} is no regular file")
            left -= status.st_size
            if left < 0 or len(stamps) >= MOST_FILES:
                raise NotCopied("there is too much of it")
            data = source.read_bytes()
            (copy / name).write_bytes(with_marks(data, hidden) if name == INDEX else data)
            # git tells by the time of its index which files may have changed since.
            os.utime(copy / name, ns=(status.st_mtime_ns, status.st_mtime_ns))
            stamps[name] = Stamp(before=stamp(status), copied=stamp((copy / name).lstat()))
    return CopiedDirectory(real=real, copy=copy, names=names, stamps=stamps, hidden=hidden)


def _files_below(real: Path, tree: str, copy: Path) -> Iterator[str]:
    """The files of a tree; its directories are created in the copy on the way."""
    waiting = [tree]
    while waiting:
        directory = waiting.pop()
        (copy / directory).mkdir()
        try:
            entries = list(os.scandir(real / directory))
        except FileNotFoundError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{directory}/{entry.name}")
            elif not entry.name.endswith(".lock"):
                yield f"{directory}/{entry.name}"


def _mounts(copied: CopiedDirectory, *, holds_objects: bool) -> Iterator[Mount]:
    real, copy = copied.real, copied.copy
    yield Mount(source=copy, target=real, writable=True)
    for entry in os.scandir(real):
        if entry.name.startswith(UNKNOWN_STORES):
            raise NotCopied(f"{entry.name} is written in a way of its own")
        if entry.name in copied.names or entry.name in (REFS, LOGS):
            continue
        if holds_objects and entry.name == OBJECTS:
            yield from _objects(Path(entry.path), copy, real)
        elif entry.is_dir() or entry.is_file():
            if entry.is_dir():
                (copy / entry.name).mkdir()
            else:
                (copy / entry.name).touch()
            # git-lfs stores files here by content hash; nothing here is executed.
            yield Mount(source=Path(entry.path), target=real / entry.name, writable=entry.name == "lfs")


def _objects(objects: Path, copy: Path, real: Path) -> Iterator[Mount]:
    """An object store for the command, with the existing store as its alternate."""
    if objects.is_symlink() or "\n" in str(real):
        raise NotCopied("the objects are elsewhere")
    (copy / OBJECTS / "info").mkdir(parents=True)
    (copy / OBJECTS / "pack").mkdir()
    (copy / OBJECTS / "info" / "alternates").write_text(f"{real / EARLIER_OBJECTS}\n")
    (copy / EARLIER_OBJECTS).mkdir()
    yield Mount(source=objects, target=real / EARLIER_OBJECTS)
