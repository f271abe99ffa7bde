"""Which ignored files a checkpoint saves: a local database is ignored by git, but no program can make it again.

Caches and installed packages are left out. Within the limits, the smallest entries are saved first, so that one huge
directory does not displace a small file.
"""

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from robota.workspace.files.package_directories import CACHES, holds_packages

COMPILED: Final = (b".pyc", b".pyo", b".o", b".class")
GIT: Final = b".git"


class IgnoredLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is saved of what is ignored, in all and per file."""

    files: int = 2_000
    total_bytes: int = 200 * 1024 * 1024
    file_bytes: int = 20 * 1024 * 1024


class IgnoredSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Ignored files to save, and files and directories that are not saved although they may matter."""

    saved: tuple[bytes, ...] = ()
    unsaved: tuple[str, ...] = ()


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An ignored file or directory with the files in it. `is_complete`: all of them can be saved."""

    path: bytes
    files: tuple[bytes, ...]
    size: int
    is_complete: bool


def select_ignored(workspace: bytes, entries: Sequence[bytes], limits: IgnoredLimits) -> IgnoredSelection:
    """Choose from these ignored files and directories, given relative to the workspace."""
    selected = [entry for path in entries if (entry := _entry(workspace, path, limits)) is not None]
    files, room = limits.files, limits.total_bytes
    saved: list[bytes] = []
    unsaved: list[str] = []
    for entry in sorted(selected, key=lambda entry: (entry.size, entry.path)):
        if entry.is_complete and len(entry.files) <= files and entry.size <= room:
            saved += entry.files
            files, room = files - len(entry.files), room - entry.size
        else:
            unsaved.append(os.fsdecode(entry.path))
    return IgnoredSelection(saved=tuple(saved), unsaved=tuple(unsaved))


def _entry(workspace: bytes, path: bytes, limits: IgnoredLimits) -> _Entry | None:
    """What is at the path; None for nothing, a cache or installed packages."""
    absolute, name = os.path.join(workspace, path), os.fsdecode(os.path.basename(path))  # noqa: PTH118, PTH119
    try:
        status = os.lstat(absolute)
    except OSError:
        return None
    if not stat.S_ISDIR(status.st_mode):
        return None if path.endswith(COMPILED) else _file_entry(path, status, limits)
    if name in CACHES or holds_packages(os.fsdecode(absolute), name):
        return None
    return _directory_entry(workspace, path, limits)


def _file_entry(path: bytes, status: os.stat_result, limits: IgnoredLimits) -> _Entry | None:
    if stat.S_ISLNK(status.st_mode):
        return _Entry(path=path, files=(path,), size=0, is_complete=True)
    if not stat.S_ISREG(status.st_mode):
        return None
    return _Entry(path=path, files=(path,), size=status.st_size, is_complete=status.st_size <= limits.file_bytes)


def _directory_entry(workspace: bytes, path: bytes, limits: IgnoredLimits) -> _Entry | None:
    """The files below a directory, counted no further than the limits."""
    files: list[bytes] = []
    size, is_complete, waiting = 0, True, [path]
    while waiting and is_complete:
        try:
            entries, deeper = _look(workspace, waiting.pop(), limits)
        except OSError:
            return _Entry(path=path, files=(), size=size, is_complete=False)
        waiting += deeper
        files += [one.path for one in entries]
        size += sum(one.size for one in entries)
        is_complete = (
            all(one.is_complete for one in entries) and len(files) <= limits.files and size <= limits.total_bytes
        )
    return _Entry(path=path, files=tuple(files), size=size, is_complete=is_complete) if files else None


def _look(workspace: bytes, directory: bytes, limits: IgnoredLimits) -> tuple[list[_Entry], list[bytes]]:
    """The files in a directory and the directories in it. Raises `OSError` where one cannot be looked at."""
    files: list[_Entry] = []
    directories: list[bytes] = []
    with os.scandir(os.path.join(workspace, directory)) as scanned:  # noqa: PTH118
        for entry in scanned:
            path, name = os.path.join(directory, entry.name), os.fsdecode(entry.name)  # noqa: PTH118
            if entry.is_dir(follow_symlinks=False):
                if name not in CACHES and entry.name != GIT and not holds_packages(os.fsdecode(entry.path), name):
                    directories.append(path)
            elif not entry.name.endswith(COMPILED):
                with suppress(FileNotFoundError):  # removed in this moment
                    one = _file_entry(path, entry.stat(follow_symlinks=False), limits)
                    files += [] if one is None else [one]
    return files, directories
