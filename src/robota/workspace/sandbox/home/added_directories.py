"""The directories outside the workspace that the user lets a session read."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from robota.workspace.sandbox.home.credential_places import IN_A_HOME

# What is read there shows other programs.
OF_THE_KERNEL: Final = tuple(map(Path, ("/proc", "/sys", "/dev")))
MAX_DIRECTORIES: Final = 16  # each costs mounts for every command


class NotAdded(Exception):
    """A directory cannot be added; the message says why."""


class AddedDirectories:
    """Grows while the session runs. Policy, the file tools and the sandbox share it."""

    def __init__(self, root: Path, home: Path | None, own: Path | None, directories: dict[Path, None]) -> None:
        """`root` is the workspace, `own` the directory of the user's own settings and state.

        `directories` are the real paths, in the order in which they were added; this object adds to it.
        """
        self._root, self._home, self._own = _real(root), home and _real(home), own and _real(own)
        self._directories = directories

    def add(self, directory: Path) -> Path:
        """Let the session read a directory; returns its real path. Raises `NotAdded`."""
        real = _real(directory)
        problem = self._problem(real)
        if problem is not None:
            raise NotAdded(f"{directory} cannot be added: {problem}. Nothing was added.")
        self._directories[real] = None
        return real

    def add_all(self, directories: Iterable[Path]) -> None:
        """Add several, or none if there is a problem with one."""
        before = dict(self._directories)
        try:
            for directory in directories:
                self.add(directory)
        except NotAdded:
            self._directories.clear()
            self._directories.update(before)
            raise

    def holding(self, location: str) -> Path | None:
        """The one of the directories that an absolute path is, or is in."""
        return next((each for each in self._directories if Path(location).is_relative_to(each)), None)

    def keeper_of(self, location: str) -> str | None:
        """The place of credentials, of the kernel or of Robota itself that an absolute path is, or is in."""
        path, home = Path(location), self._home
        places = (*OF_THE_KERNEL, *((self._own,) if self._own else ()), *(home / name for name in IN_A_HOME if home))
        return next((str(place) for place in places if path.is_relative_to(place)), None)

    def _problem(self, real: Path) -> str | None:
        if not real.is_dir():
            return "it is not a directory"
        if real.is_relative_to(self._root):
            return "it is in the workspace already"
        if self._root.is_relative_to(real):
            return "it contains the workspace; start Robota there instead"
        if self._home is not None and self._home.is_relative_to(real):
            return "it is your home directory or contains it; add the directory of a project"
        if len(self._directories) >= MAX_DIRECTORIES and real not in self._directories:
            return f"there are {MAX_DIRECTORIES} already"
        kept = self.keeper_of(str(real))
        return None if kept is None else f"the agent never reads {kept}"


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
