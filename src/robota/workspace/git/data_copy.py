"""A copy of git data for one command: the command changes the copy, and verified data is written back afterwards.

Inside the sandbox the copy is mounted in place of the git directory, with everything that is not data read-only on top;
existing objects are only read. So the real git directory is never writable from inside, and whatever else a hook or
another program leaves there is discarded. A git directory may come from an archive: no link in it is followed.
"""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from robota.text.visible import printable_name
from robota.workspace.files.remove_tree import remove_tree
from robota.workspace.git.abandoned_copies import CopyState, new_copy_directory, not_written_yet, write_state
from robota.workspace.git.data_names import INDEX, LFS, LOGS, OBJECTS, OF_REPOSITORY, OF_WORKING_TREE, REFS, TREES
from robota.workspace.git.git_directories import GitDirectories
from robota.workspace.git.hidden_entries import with_marks
from robota.workspace.git.index_gitlinks import UnreadableIndex
from robota.workspace.git.plain_directory import PlainDirectory, UnsafeEntry, require_plain
from robota.workspace.git.write_back import CopiedDirectory, Stamp, index_before, stamp

# Where the existing objects are mounted inside the sandbox. git-lfs looks for its files next to them.
BEFORE: Final = "before"
MAX_FILES: Final = 5000
MAX_BYTES: Final = 512 << 20
# Formats with their own rules for writing, or with more than one file.
UNKNOWN_STORES: Final = ("reftable", "sharedindex.")
# Housekeeping would run alongside the command and be killed with it; packs cannot be verified object by object.
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

    def __init__(self, reason: str) -> None:
        # It may name a file of an archive: bytes that are not UTF-8 cannot be logged.
        super().__init__(printable_name(reason))


class GitDataCopy:
    """Made before a command starts. `keep` writes its results back, once; `discard` must follow."""

    def __init__(self, directories: GitDirectories, user_directory: Path, hidden: tuple[Path, ...] = ()) -> None:
        """`hidden` are paths in the working tree that the command does not see. Raises `NotCopied`.

        The copy is kept in `user_directory`, which commands must not be able to write.
        """
        self._hidden = tuple(
            str(path.relative_to(directories.top)) for path in hidden if path.is_relative_to(directories.top)
        )
        self._directories = directories
        # A caller that gave up waiting for `keep`, which runs in a thread, must not remove the copy while it is used.
        self._in_use = threading.Lock()
        self._state: CopyState | None = None
        self._is_waiting = False
        try:
            self._copy_directory, self._lock = new_copy_directory(user_directory)
        except OSError as error:
            raise NotCopied(f"there is no room for a copy ({_error_text(error)})") from error
        try:
            copied, self.mounts = self._copy()
            self._state = CopyState(directories=directories, copied=copied)
            write_state(self._copy_directory, user_directory, self._state)
        except OSError as error:
            self.discard()
            raise NotCopied(_error_text(error)) from error
        except (ValueError, UnsafeEntry, UnreadableIndex) as error:
            self.discard()
            raise NotCopied(str(error)) from error
        except BaseException:
            self.discard()
            raise

    def keep(self) -> tuple[str, ...]:
        """Write the command's results back. Returns a sentence for each thing that was not."""
        with self._in_use:
            state, self._state = self._state, None
            try:
                return () if state is None else state.take_over()
            except OSError as error:
                self._is_waiting = True
                return (not_written_yet(self._copy_directory, error),)

    def discard(self) -> None:
        """Remove the copy, unless it could not be written back yet. Calling it twice is harmless."""
        with self._in_use:
            self._state = None
            if self._lock >= 0:
                if not self._is_waiting:
                    remove_tree(self._copy_directory)
                os.close(self._lock)
                self._lock = -1

    def _copy(self) -> tuple[tuple[CopiedDirectory, ...], tuple[Mount, ...]]:
        own, common = self._directories.own, self._directories.common
        if not self._directories.is_worktree:
            only, mounts = self._copied("own", own, OF_WORKING_TREE | OF_REPOSITORY, holds_objects=True)
            return (only,), mounts
        shared, shared_mounts = self._copied("common", common, OF_REPOSITORY, holds_objects=True)
        single, single_mounts = self._copied("own", own, OF_WORKING_TREE, holds_objects=False)
        # The git directory of a worktree is inside the repository's, so it is mounted later, on top.
        return (single, shared), (*shared_mounts, *single_mounts)

    def _copied(
        self, name: str, directory: Path, names: frozenset[str], *, holds_objects: bool
    ) -> tuple[CopiedDirectory, tuple[Mount, ...]]:
        copy = self._copy_directory / name
        copy.mkdir()
        hidden = self._hidden if INDEX in names else ()
        with PlainDirectory.at(directory) as real:
            stamps = _copy_data(real, copy, names, hidden)
            mounts = tuple(_mounts(real, directory, copy, names, holds_objects=holds_objects))
            status = copy.lstat()
            copied = CopiedDirectory(
                real=directory,
                real_identity=real.identity,
                copy=copy,
                copy_identity=(status.st_dev, status.st_ino),
                names=names,
                stamps=stamps,
                hidden=hidden,
            )
        return copied, mounts


def _error_text(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def _copy_data(real: PlainDirectory, copy: Path, names: frozenset[str], hidden: tuple[str, ...]) -> dict[str, Stamp]:
    """Copy the data files. Returns how each of them and its copy look."""
    stamps: dict[str, Stamp] = {}
    left = MAX_BYTES
    for name, parent in _data_files(real, copy, names):
        data, status = parent.read(name.rpartition("/")[2], left)
        left -= len(data)
        if len(stamps) >= MAX_FILES:
            raise NotCopied(f"it has more than {MAX_FILES} refs and logs")
        if name == INDEX:
            index_before(copy).write_bytes(data)
        (copy / name).write_bytes(with_marks(data, hidden) if name == INDEX else data)
        # git uses the time of its index to decide which files may have changed since.
        os.utime(copy / name, ns=(status.st_mtime_ns, status.st_mtime_ns))
        stamps[name] = Stamp(before=stamp(status), copied=stamp((copy / name).lstat()))
    return stamps


def _data_files(real: PlainDirectory, copy: Path, names: frozenset[str]) -> Iterator[tuple[str, PlainDirectory]]:
    """Each data file, with its open directory; the directories are created in the copy on the way."""
    for name in sorted(names):
        if real.status(name) is not None:
            yield name, real
    for tree in TREES:
        (copy / tree).mkdir()
        if real.status(tree) is None:
            continue
        for entry in real.tree(tree):
            if entry.is_directory:
                (copy / entry.name).mkdir()
            elif not entry.name.endswith(".lock"):
                yield entry.name, entry.parent


def _mounts(
    real: PlainDirectory, directory: Path, copy: Path, names: frozenset[str], *, holds_objects: bool
) -> Iterator[Mount]:
    """The copy in place of the git directory, with everything that is not data read-only on top."""
    yield Mount(source=copy, target=directory, writable=True)
    for name, status in real.entries():
        if name.startswith(UNKNOWN_STORES):
            raise NotCopied(f"{name} is written in a way of its own")
        if stat.S_ISSOCK(status.st_mode) or name in names or name in (REFS, LOGS):
            continue
        require_plain(name, status)
        if holds_objects and name in (OBJECTS, LFS):
            _require_plain_store(real, name)
            (copy / name).mkdir()
            (copy / BEFORE / name).mkdir(parents=True)
            yield Mount(source=directory / name, target=directory / BEFORE / name)
            continue
        if stat.S_ISDIR(status.st_mode):
            (copy / name).mkdir()
        else:
            (copy / name).touch()
        yield Mount(source=directory / name, target=directory / name)
    if holds_objects:
        _make_store(copy, directory)


def _require_plain_store(real: PlainDirectory, name: str) -> None:
    """What is taken over is written below these directories."""
    with real.directory(name) as store:
        for entry, status in store.entries():
            require_plain(f"{name}/{entry}", status)


def _make_store(copy: Path, real: Path) -> None:
    """An object store for the command, with the existing store as its alternate."""
    if "\n" in str(real):
        raise NotCopied("there is a line break in its path")
    for name in ("info", "pack"):
        (copy / OBJECTS / name).mkdir(parents=True, exist_ok=True)
    (copy / OBJECTS / "info" / "alternates").write_text(f"{real / BEFORE / OBJECTS}\n")
