"""Where programs are found: only in directories that are named in full, never in one that depends on where we are."""

import os
from collections.abc import Mapping
from pathlib import Path


def absolute_path(path: str) -> str:
    """A PATH without its relative entries: with those, a workspace could bring its own `ls` or `git`."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if folder.startswith("/"))


def find_program(name: str, environment: Mapping[str, str], not_beneath: Path | None = None) -> str | None:
    """The full path of a program.

    `not_beneath` is where commands can write: in a virtual environment there, which is on the PATH when it is active,
    they could put a program that we would run outside the sandbox.
    """
    # It brings every archive format along, and most sessions look for no program.
    import shutil

    path = absolute_path(environment.get("PATH", os.defpath))
    if not_beneath is not None:
        within = os.path.realpath(not_beneath)
        path = os.pathsep.join(folder for folder in path.split(os.pathsep) if not _lies_in(folder, within))
    return shutil.which(name, path=path)


def _lies_in(folder: str, within: str) -> bool:
    return Path(os.path.realpath(folder)).is_relative_to(within)
