"""Which entries were written on this machine by its person: only these are theirs before they trust a project.

A repository can bring a memory of its own, with any provenance in it; what it cannot do is to write this list.
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
    """The list, for one memory."""

    def __init__(self, user_memory: Path, store: Path) -> None:
        """`user_memory` is the directory of the person that holds the list, `store` that of the memory."""
        self._path = user_memory / NAME
        self._store = os.fsencode(store)

    def note(self, entry: MemoryEntry) -> None:
        """The person wrote this entry, or approved it. Raises `OSError`."""
        make_private_directory(self._path.parent)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
        with os.fdopen(descriptor, "ab", buffering=0) as file:
            file.write(f"{self._digest(entry)}\n".encode())

    def known(self) -> Callable[[MemoryEntry], bool]:
        """Tells entries of the list, as it is now, from others. Nothing is known if it cannot be read."""
        try:
            digests = frozenset(read_file(self._path).decode("ascii", "replace").split())
        except OSError:
            digests = frozenset()
        return lambda entry: self._digest(entry) in digests

    def _digest(self, entry: MemoryEntry) -> str:
        return hashlib.sha256(self._store + b"\0" + entry.line.encode("utf-8", "surrogateescape")).hexdigest()
