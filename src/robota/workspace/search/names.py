"""Find files by name: ripgrep lists them, because it knows what git ignores, and we match the pattern."""

import asyncio
import os
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.search.content import (
    SearchFailed,
    argument,
    check_searchable,
    name_options,
    tidy,
    visibility_options,
)
from robota.workspace.search.pattern import PathPattern
from robota.workspace.search.ripgrep import run_ripgrep

MAX_INSPECTED: Final = 500_000


class FoundNames(msgspec.Struct, frozen=True, kw_only=True):
    """Paths relative to the root, the newest file first. `total` counts all matches among the inspected files."""

    paths: tuple[str, ...]
    total: int
    gave_up: bool


async def find_names(
    root: Path,
    directory: Path,
    pattern: PathPattern,
    is_ignored: Callable[[str], bool],
    limit: int,
    *,
    max_files: int = MAX_INSPECTED,
) -> FoundNames:
    """The files in the directory `directory`, a resolved path below `root`, that match the pattern."""
    check_searchable(root, directory, is_ignored)
    base = f"{argument(root, directory)}/"
    matching: list[str] = []
    looked_at = 0
    is_enough = pattern.is_about_names  # then ripgrep has done the matching already

    def take(record: bytes) -> bool:
        nonlocal looked_at
        looked_at += 1
        path = os.fsdecode(record)
        if is_enough or pattern.matches(tidy(path.removeprefix(base))):
            matching.append(tidy(path))
        return looked_at < max_files

    options = ["--files", "--null", *visibility_options(root, hidden=pattern.wants_hidden), *name_options(pattern)]
    end = await run_ripgrep([*options, "--", argument(root, directory)], root, take, separator=b"\0")
    if not looked_at and end.errors:
        raise SearchFailed(f"The files could not be listed. Try another path. {end.errors}")
    newest = await asyncio.to_thread(_newest_first, root, matching)
    # Checking the ignore files is the slowest part, so only paths that will be shown are checked.
    shown = tuple(islice((path for path in newest if not is_ignored(path)), limit))
    total = len(matching) if len(shown) == limit else len(shown)
    return FoundNames(paths=shown, total=total, gave_up=end.was_stopped)


def _newest_first(root: Path, paths: Sequence[str]) -> list[str]:
    """Sort by modification time, then by path, so that the order is deterministic."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        times = {path: _changed_at(path, descriptor) for path in paths}
    finally:
        os.close(descriptor)
    return sorted(sorted(paths), key=times.__getitem__, reverse=True)


def _changed_at(path: str, root: int) -> int:
    try:
        return os.stat(path, dir_fd=root, follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0  # removed meanwhile
