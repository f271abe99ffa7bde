"""Where programs are found: only in directories that are named in full, never in one that depends on where we are."""

import os
from collections.abc import Mapping


def absolute_path(path: str) -> str:
    """A PATH without its relative entries: with those, a workspace could bring its own `ls` or `git`."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if folder.startswith("/"))


def find_program(name: str, environment: Mapping[str, str]) -> str | None:
    """The full path of a program."""
    # It brings every archive format along, and most sessions look for no program.
    import shutil

    return shutil.which(name, path=absolute_path(environment.get("PATH", os.defpath)))
