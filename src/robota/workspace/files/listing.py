"""List a directory with bounded entries and bounded work, without following symbolic links."""

import os
from collections import deque
from collections.abc import Iterable, Sequence
from heapq import nsmallest

import msgspec

from robota.workspace.files.confined_paths import best_opener, walk_to_directory
from robota.workspace.files.ignore import IgnoreFiles, PathParts, PathTooLong, Patterns

# Listed but not entered: large, generated, or third-party.
NOT_ENTERED = frozenset(
    {"node_modules", "__pycache__", "env", "venv", "dist", "out", "bundle"}
    | {"vendor", "tmp", "temp", "deps", "pkg", "Pods"}
)
NOT_ENTERED_PAIRS = frozenset({("target", "dependency"), ("build", "dependencies")})

# Directories no deeper than this are opened one after the other.
SHALLOW = 2
MAX_SCANNED = 50_000

Row = tuple[bool, str]  # whether it is a file, so that directories sort first, and its name


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """Paths relative to the listed directory; directories end with `/`. Names are as the file system has them."""

    entries: tuple[str, ...]
    truncated: bool


def list_directory(
    directory: int, *, recursive: bool, limit: int, above: PathParts = (), rules: Sequence[IgnoreFiles] = ()
) -> Listing:
    """List the directory open at the descriptor, level by level, so that a cut listing still shows the top.

    `above` is its path from the root that the ignore files in `rules` start from.
    """
    entries: list[tuple[PathParts, bool]] = []
    over = [files.patterns(above[:-1]) if above else Patterns() for files in rules]
    waiting: deque[tuple[PathParts, list[Patterns]]] = deque([((), over)])
    scanned = 0
    truncated = False
    while waiting and not truncated:
        parent, patterns = waiting.popleft()
        rows, cut = _scan(directory, parent, MAX_SCANNED - scanned)
        scanned += len(rows)
        from_root = (*above, *parent)
        try:
            patterns = _with_files_in(from_root, rows, cut, zip(rules, patterns, strict=True))
        except PathTooLong:
            if not parent:
                raise
            continue
        rows = _without_ignored(rows, from_root, patterns)
        room = limit - len(entries)
        truncated = cut or len(rows) > room
        for is_file, name in nsmallest(room, rows):
            parts = (*parent, name)
            entries.append((parts, not is_file))
            if recursive and not is_file and _is_entered(parts):
                waiting.append((parts, patterns))
    entries.sort(key=_tree_order)
    return Listing(entries=tuple("/".join(parts) + "/" * is_dir for parts, is_dir in entries), truncated=truncated)


def _scan(directory: int, parts: PathParts, budget: int) -> tuple[list[Row], bool]:
    """At most `budget` entries, and whether there are more."""
    descriptor = _open(directory, parts)
    if descriptor is None:
        return [], False
    rows: list[Row] = []
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if len(rows) == budget:
                    return rows, True
                rows.append((not entry.is_dir(follow_symlinks=False), entry.name))
    finally:
        os.close(descriptor)
    return rows, False


def _with_files_in(
    directory: PathParts, rows: list[Row], cut: bool, over: Iterable[tuple[IgnoreFiles, Patterns]]
) -> list[Patterns]:
    """The patterns that apply to the entries of a directory; ignore files are looked up only where one is listed."""
    names = {name for _, name in rows}
    return [files.with_file_of(directory, each) if cut or files.name in names else each for files, each in over]


def _without_ignored(rows: list[Row], directory: PathParts, patterns: list[Patterns]) -> list[Row]:
    speaking = [each for each in patterns if each.files]
    if not speaking:
        return rows
    return [
        (is_file, name)
        for is_file, name in rows
        if not any(each.match((*directory, name), is_directory=not is_file) for each in speaking)
    ]


def _open(directory: int, parts: PathParts) -> int | None:
    """Open a directory further down; None if it vanished or may not be entered: its content is not listed."""
    try:
        # Near the top a walk is as fast, and does not need ctypes to be imported for `openat2`.
        opener = walk_to_directory if len(parts) <= SHALLOW else best_opener()
        return opener(directory, "/".join(parts))
    except OSError:
        pass
    try:  # the path is too long for one system call
        return walk_to_directory(directory, "/".join(parts))
    except OSError:
        return None


def _is_entered(parts: PathParts) -> bool:
    name = parts[-1]
    return not (name.startswith(".") or name in NOT_ENTERED or parts[-2:] in NOT_ENTERED_PAIRS)


def _tree_order(row: tuple[PathParts, bool]) -> list[tuple[bool, str]]:
    """A directory before its content, and directories before files at every level."""
    parts, is_dir = row
    return [*((False, name) for name in parts[:-1]), (not is_dir, parts[-1])]
