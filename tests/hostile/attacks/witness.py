"""What lies in a directory, byte for byte, and what differs later: the witness outside the sandbox."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

# How long a mode is in words, as `ls` shows it; the first letter is the kind.
MODE: Final = len("drwxr-xr-x")
# Path below the directory, and what lies there: its kind, mode and content. Links are never followed.
Snapshot = Mapping[str, str]


def snapshot(directory: Path, *, modes: bool, without: Iterable[str] = ()) -> Snapshot:
    """Every name below the directory with what it holds, and its mode if that is promised to stay.

    `without` are paths that are left out with all below them.
    """
    taken = _entries(str(directory), "", frozenset(without))
    return dict(taken) if modes else {name: what[0] + what[MODE:] for name, what in taken}


def beneath(taken: Snapshot, places: Iterable[str]) -> Snapshot:
    """Only those places, with what lies below each."""
    wanted = tuple(places)
    return {
        name: what
        for name, what in taken.items()
        if any(name == place or name.startswith(f"{place}/") for place in wanted)
    }


def differences(before: Snapshot, after: Snapshot) -> list[str]:
    """A line for each name that appeared, disappeared or holds something else."""
    names = sorted(before.keys() | after.keys())
    return [
        f"{name!r}: {before.get(name, 'nothing')} -> {after.get(name, 'nothing')}"
        for name in names
        if before.get(name) != after.get(name)
    ]


def files_with(directory: Path, words: Iterable[str]) -> list[str]:
    """Names of the regular files below the directory that contain one of those words."""
    wanted = [word.encode() for word in words]
    found = []
    for parent, _, names in os.walk(directory):
        for name in names:
            place = Path(parent, name)
            if stat.S_ISREG(place.lstat().st_mode) and any(word in place.read_bytes() for word in wanted):
                found.append(str(place.relative_to(directory)))
    return sorted(found)


def _entries(directory: str, prefix: str, without: frozenset[str]) -> Iterator[tuple[str, str]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            name = prefix + entry.name
            if name in without:
                continue
            status = entry.stat(follow_symlinks=False)
            yield name, _described(entry.path, status)
            if stat.S_ISDIR(status.st_mode):
                yield from _entries(entry.path, f"{name}/", without)


def _described(place: str, status: os.stat_result) -> str:
    kind = stat.filemode(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return f"{kind} to {str(Path(place).readlink())!r}"
    if stat.S_ISREG(status.st_mode):
        return f"{kind} {hashlib.sha256(Path(place).read_bytes()).hexdigest()[:16]} links {status.st_nlink}"
    return kind
