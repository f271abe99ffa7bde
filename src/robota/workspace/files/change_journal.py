"""The journal of a set of changes: written before the first change, removed after the last one.

A process that is killed in between leaves its journal, and the next session undoes the changes that were made
(`interrupted_changes.py`). Journals are kept outside the workspace: otherwise a repository could ship one and have
arbitrary files written at the next start. They are sealed, so that no other file can pass for a journal.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import make_private_directory
from robota.config.sealed_state import ForeignState, seal, unseal

SUFFIX: Final = ".journal"


class FileMade(msgspec.Struct, frozen=True, kw_only=True, tag="write"):
    """A file gets new content; only its SHA-256 is recorded. `old` is None for a new file.

    Paths are relative to the root, and bytes because not every file name is valid text.
    """

    path: bytes
    old: bytes | None
    digest: bytes
    new_directories: tuple[bytes, ...] = ()


class LinkMade(msgspec.Struct, frozen=True, kw_only=True, tag="link"):
    """A symbolic link is created."""

    path: bytes
    target: bytes
    new_directories: tuple[bytes, ...] = ()


class FileRemoved(msgspec.Struct, frozen=True, kw_only=True, tag="remove"):
    """A file with this content and mode is deleted."""

    path: bytes
    old: bytes
    mode: int


class LinkRemoved(msgspec.Struct, frozen=True, kw_only=True, tag="unlink"):
    """A symbolic link is deleted."""

    path: bytes
    target: bytes


JournaledChange = FileMade | LinkMade | FileRemoved | LinkRemoved


class ChangeJournal(msgspec.Struct, frozen=True, kw_only=True):
    """The changes to one workspace, in the order they are made."""

    root: bytes
    changes: tuple[JournaledChange, ...]


@contextmanager
def journaled(directory: Path, root: Path, changes: Sequence[JournaledChange]) -> Iterator[None]:
    """Keep the changes in a journal on disk, locked by this process, until the context ends."""
    make_private_directory(directory)
    name = os.urandom(8).hex()
    draft, journal = directory / name, directory / f"{name}{SUFFIX}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        # Locked before it gets its name: an unlocked journal means that its writer is dead.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with os.fdopen(os.dup(descriptor), "wb") as file:
            data = msgspec.msgpack.encode(ChangeJournal(root=os.fsencode(root), changes=tuple(changes)))
            file.write(seal(_user_directory(directory), _purpose(journal), data))
            file.flush()
            os.fsync(file.fileno())
        draft.rename(journal)
        yield
    finally:
        draft.unlink(missing_ok=True)
        journal.unlink(missing_ok=True)
        os.close(descriptor)


def read_journal(file: Path, data: bytes, root: Path) -> ChangeJournal:
    """The journal with this content. Raises `ForeignState`, `msgspec.DecodeError` or `OSError`."""
    journal = msgspec.msgpack.decode(unseal(_user_directory(file.parent), _purpose(file), data), type=ChangeJournal)
    if journal.root != os.fsencode(root):
        raise ForeignState("it belongs to another workspace")
    return journal


def _user_directory(directory: Path) -> Path:
    """Journals are two levels below it: see `drafts.journal_directory`."""
    return directory.parent.parent


def _purpose(journal: Path) -> str:
    return f"patch {journal.parent.name}/{journal.name}"
