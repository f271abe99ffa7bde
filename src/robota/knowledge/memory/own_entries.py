"""Records which entries the user wrote or approved on this machine.

A repository can contain memory files with any claimed origin, but it cannot write this list. So before the user
trusts a project, only entries on the list are followed as theirs.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from robota.config.durable_file import PRIVATE, make_private_directory, read_file
from robota.knowledge.memory.entry import MemoryEntry

NAME: Final = "written-here"


class OwnEntries:
    """The list of own entries, for one memory."""

    def __init__(self, user_memory: Path, store: Path) -> None:
        """`user_memory` is the directory that holds the list, `store` the directory of the memory."""
        self._path = user_memory / NAME
        self._store = os.fsencode(store)

    def note(self, entry: MemoryEntry) -> None:
        """Record that the user wrote or approved this entry. Raises `OSError`."""
        make_private_directory(self._path.parent)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
        with os.fdopen(descriptor, "ab", buffering=0) as file:
            file.write(f"{self._digest(entry)}\n".encode())

    def predicate(self) -> Callable[[MemoryEntry], bool]:
        """A predicate that tells whether an entry is on the current list. An unreadable list is empty."""
        try:
            digests = frozenset(read_file(self._path).decode("ascii", "replace").split())
        except OSError:
            digests = frozenset()
        return lambda entry: self._digest(entry) in digests

    def _digest(self, entry: MemoryEntry) -> str:
        return hashlib.sha256(self._store + b"\0" + entry.line.encode("utf-8", "surrogateescape")).hexdigest()
