"""The state of the files that a program runs, as parts of an agreement: what the user saw, and what is there now."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from robota.config.trust.lock_file import Part
from robota.workspace.outside_code.code_search import CodeFiles

MAX_TREE_ENTRIES: Final = 50_000
MAX_KEPT_BYTES: Final = 256 * 1024
# Written while programs run. Python is configured to load none of these files from the workspace.
NOT_CODE: Final = frozenset({"__pycache__", ".cache"})
WHOLE: Final = "/ (the whole directory)"
MODULES: Final = "/ (names of its Python modules)"
GIT: Final = ".git (why git would run programs)"


class TooManyFiles(Exception):
    """A directory has too many entries to compare them before each run. The message names it."""


def code_parts(code: CodeFiles, root: Path) -> tuple[Part, ...]:
    """One part for each file, by content, and for each directory. Raises `TooManyFiles`."""
    parts = [part for file in code.files for part in _of_file(file, root)]
    parts += [_of_tree(tree, root) for tree in code.trees]
    parts += [_of_modules(directory, root) for directory in code.module_directories]
    if code.named_by_git:
        why = code.named_by_git.encode("utf-8", "surrogateescape")
        parts.append(Part(name=GIT, digest=_hash(why), data=why))
    return tuple(sorted(parts, key=lambda part: part.name))


def _of_file(file: Path, root: Path) -> Iterator[Part]:
    name = _name(file, root)
    if file.is_symlink():
        target = os.fsencode(file.readlink())
        yield Part(name=name, digest=f"link-{_hash(target)}", data=b"a link to " + target)
        return
    try:
        data = file.read_bytes()
    except OSError as error:
        yield Part(name=name, digest=f"unreadable-{error.errno}")
        return
    yield Part(name=name, digest=_hash(data), data=data if len(data) <= MAX_KEPT_BYTES else None)


def _of_tree(tree: Path, root: Path) -> Part:
    """Size, times and identity of every file: reading a whole virtual environment before each run takes too long.

    The time of the last change cannot be set by a program, so no content changes without it.
    """
    digest, left = hashlib.sha256(), MAX_TREE_ENTRIES
    waiting = [os.fspath(tree)]
    while waiting:
        directory = waiting.pop()
        for name, state, is_directory in _entries(directory):
            left -= 1
            if left < 0:
                raise TooManyFiles(f"{_name(tree, root)} has more than {MAX_TREE_ENTRIES:,} entries")
            digest.update(os.fsencode(f"{directory}/{name}\0{state}\0"))
            if is_directory:
                waiting.append(f"{directory}/{name}")
    return Part(name=f"{_name(tree, root)}{WHOLE}", digest=f"tree-{digest.hexdigest()}")


def _entries(directory: str) -> list[tuple[str, str, bool]]:
    described: list[tuple[str, str, bool]] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name in NOT_CODE:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    described.append((entry.name, "directory", True))
                    continue
                status = entry.stat(follow_symlinks=False)
                described.append(
                    (entry.name, f"{status.st_mode} {status.st_size} {status.st_ino} {status.st_ctime_ns}", False)
                )
    except OSError as error:
        described.append(("", f"unreadable {error.errno}", False))
    return sorted(described)


def _of_modules(directory: Path, root: Path) -> Part:
    try:
        entries = [entry for entry in directory.iterdir() if entry.name not in NOT_CODE]
    except OSError:
        entries = []
    names = sorted(entry.name for entry in entries if _is_module(entry))
    data = "\n".join(names).encode("utf-8", "surrogateescape")
    return Part(name=f"{_name(directory, root)}{MODULES}", digest=_hash(data), data=data)


def _is_module(entry: Path) -> bool:
    return entry.suffix in {".py", ".pyc", ".so", ".pyd"} or (entry.is_dir() and entry.name.isidentifier())


def _name(path: Path, root: Path) -> str:
    for base in (root, Path(os.path.realpath(root))):
        if path.is_relative_to(base):
            return str(path.relative_to(base)).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return str(path)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
