"""The files of a workspace with certain suffixes, and whether they changed."""

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path, PurePath

import msgspec

from robota.workspace.search.content import tidy, visibility_options
from robota.workspace.search.ripgrep import run_ripgrep


class FileStamp(msgspec.Struct, frozen=True, array_like=True):
    """What changes with the content of a file, as far as its directory knows."""

    size: int
    mtime_ns: int


async def list_code_files(root: Path, suffixes: Collection[str], is_hidden: Callable[[str], bool]) -> list[str]:
    """The files with one of these suffixes that are neither ignored nor hidden, relative to the root, in order."""
    paths: list[str] = []

    def take(record: bytes) -> bool:
        path = tidy(os.fsdecode(record))
        if PurePath(path).suffix.lower() in suffixes:
            paths.append(path)
        return True

    options = ["--files", "--null", *visibility_options(root, hidden=False)]
    await run_ripgrep([*options, "--", "."], root, take, separator=b"\0")
    return sorted(path for path in paths if not is_hidden(path))


def stamps_of(root: Path, paths: Collection[str], max_bytes: int) -> dict[str, FileStamp]:
    """The stamps of files; without those that are gone or larger than `max_bytes`."""
    stamps = {}
    for path in paths:
        with suppress(OSError):
            status = os.lstat(root / path)
            if status.st_size <= max_bytes:
                stamps[path] = FileStamp(status.st_size, status.st_mtime_ns)
    return stamps


class FileChanges(msgspec.Struct, frozen=True):
    """How files differ from an earlier state, by path."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    deleted: tuple[str, ...]


def changes_between(before: Mapping[str, FileStamp], after: Mapping[str, FileStamp]) -> FileChanges:
    """What changed between two states."""
    created = tuple(path for path in after if path not in before)
    changed = tuple(path for path, stamp in after.items() if path in before and before[path] != stamp)
    return FileChanges(created, changed, tuple(path for path in before if path not in after))
