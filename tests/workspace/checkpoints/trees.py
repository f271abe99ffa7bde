"""What is in a directory, as a dictionary: contents, modes and link targets by path."""

import os
from pathlib import Path

Tree = dict[bytes, tuple[str, bytes]]


def tree_of(directory: Path) -> Tree:
    """Every file and link below the directory but those of git."""
    found: Tree = {}
    for path in directory.rglob("*"):
        name = path.relative_to(directory)
        if ".git" in name.parts:
            continue
        if path.is_symlink():
            found[os.fsencode(name)] = ("link", os.fsencode(path.readlink()))
        elif path.is_file():
            found[os.fsencode(name)] = (f"{path.stat().st_mode & 0o7777:o}", path.read_bytes())
    return found
