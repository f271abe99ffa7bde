"""What a directory holds, bounded in entries and in work, never following a symbolic link."""

import os
from collections import deque
from heapq import nsmallest

import msgspec

# Named, but not entered: they are large, generated, or not the project's own.
NOT_ENTERED = frozenset(
    {"node_modules", "__pycache__", "env", "venv", "dist", "out", "bundle"}
    | {"vendor", "tmp", "temp", "deps", "pkg", "Pods"}
)
NOT_ENTERED_PAIRS = frozenset({("target", "dependency"), ("build", "dependencies")})

MAX_SCANNED = 50_000
DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Parts = tuple[str, ...]


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """Paths relative to the listed directory; directories end with `/`. Names are as the system has them."""

    entries: tuple[str, ...]
    truncated: bool


def list_directory(directory: int, *, recursive: bool, limit: int) -> Listing:
    """List the directory open at the descriptor, level by level, so that a cut listing still shows the top."""
    found: list[tuple[Parts, bool]] = []
    waiting: deque[Parts] = deque([()])
    scanned = 0
    truncated = False
    while waiting and not truncated:
        above = waiting.popleft()
        names, seen, cut = _scan(directory, above, limit - len(found), MAX_SCANNED - scanned)
        scanned += seen
        truncated = cut
        for is_file, name in names:
            parts = (*above, name)
            found.append((parts, not is_file))
            if recursive and not is_file and _is_entered(parts):
                waiting.append(parts)
    found.sort(key=_tree_order)
    return Listing(entries=tuple("/".join(parts) + "/" * is_dir for parts, is_dir in found), truncated=truncated)


def _scan(directory: int, parts: Parts, room: int, budget: int) -> tuple[list[tuple[bool, str]], int, bool]:
    """The first `room` names, directories before files; how many were looked at; whether any were left out."""
    descriptor = _open(directory, parts)
    if descriptor is None:
        return [], 0, False
    rows: list[tuple[bool, str]] = []
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if len(rows) == budget:
                    return nsmallest(room, rows), len(rows), True
                rows.append((not entry.is_dir(follow_symlinks=False), entry.name))
    finally:
        os.close(descriptor)
    return nsmallest(room, rows), len(rows), len(rows) > room


def _open(directory: int, parts: Parts) -> int | None:
    """A directory further down that vanished, or that we may not enter, is simply not shown from inside."""
    descriptor = os.dup(directory)
    for name in parts:
        try:
            deeper = os.open(name, DIRECTORY_FLAGS, dir_fd=descriptor)
        except OSError:
            return None
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor


def _is_entered(parts: Parts) -> bool:
    name = parts[-1]
    return not (name.startswith(".") or name in NOT_ENTERED or parts[-2:] in NOT_ENTERED_PAIRS)


def _tree_order(row: tuple[Parts, bool]) -> list[tuple[bool, str]]:
    """A directory before its content, and directories before files at every level."""
    parts, is_dir = row
    return [*((False, name) for name in parts[:-1]), (not is_dir, parts[-1])]
