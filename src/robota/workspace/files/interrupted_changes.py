"""Undo, at the next start, the change sets of sessions that were killed while they applied them."""

import fcntl
import os
from collections.abc import Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, assert_never

import msgspec

from robota.config.sealed_state import ForeignState
from robota.workspace.files.change_journal import (
    SUFFIX,
    ChangeJournal,
    FileMade,
    FileRemoved,
    JournaledChange,
    LinkMade,
    LinkRemoved,
    read_journal,
)
from robota.workspace.files.change_set import put_back_file, remove_directories
from robota.workspace.files.files import LocalFiles
from robota.workspace.files.path_status import Presence, presence_of
from robota.workspace.problems import FileProblem

MAX_BYTES: Final = 1 << 40
MAX_NAMES: Final = 10


def undo_interrupted_changes(root: Path, directory: Path) -> list[str]:
    """Undo the incomplete change sets of killed sessions in the workspace; returns messages for the user."""
    notices: list[str] = []
    with suppress(OSError):
        for file in sorted(directory.iterdir()):
            notices += _undo_journal(root, file)
        directory.rmdir()
    return notices


def _undo_journal(root: Path, file: Path) -> list[str]:
    """Undo one journal, unless its session is alive or another process is undoing it."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink == 0:
            return []
        if file.suffix != SUFFIX:  # the journal is incomplete, so no change has been made
            file.unlink()
            return []
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            journal = read_journal(file, stream.read(), root)
        with closing(LocalFiles(root)) as files:
            notices = _undo(files, journal)
        file.unlink()
    except BlockingIOError:
        return []
    except ForeignState as problem:
        return [f"An interrupted patch was refused: {problem}. No file was changed; see {str(file)!r}."]
    except (OSError, msgspec.DecodeError) as error:
        return [f"An interrupted patch could not be read ({error}). It was not changed; see {str(file)!r}."]
    finally:
        os.close(descriptor)
    return notices


def _undo(files: LocalFiles, journal: ChangeJournal) -> list[str]:
    if all(_is_done(files, change) for change in journal.changes):
        return []
    undone: list[str] = []
    left: list[str] = []
    for change in reversed(journal.changes):
        path = os.fsdecode(change.path)
        try:
            if _is_done(files, change):
                _undo_one(files, change)
                undone.append(path)
            elif not _is_as_before(files, change):
                left.append(path)
            if isinstance(change, FileMade | LinkMade):
                remove_directories(files, [files.root / os.fsdecode(directory) for directory in change.new_directories])
        except (FileProblem, OSError):
            left.append(path)
    return [_report(undone, left)] if undone or left else []


def _is_done(files: LocalFiles, change: JournaledChange) -> bool:
    path = os.fsdecode(change.path)
    match change:
        case FileMade():
            now = _content(files, path)
            return now is not None and sha256(now).digest() == change.digest
        case LinkMade():
            return _target(files, path) == os.fsdecode(change.target)
        case FileRemoved() | LinkRemoved():
            return presence_of(files.root / path) is Presence.ABSENT
        case _:
            assert_never(change)


def _is_as_before(files: LocalFiles, change: JournaledChange) -> bool:
    path = os.fsdecode(change.path)
    match change:
        case FileMade() | FileRemoved():
            return _content(files, path) == change.old
        case LinkMade():
            return presence_of(files.root / path) is Presence.ABSENT
        case LinkRemoved():
            return _target(files, path) == os.fsdecode(change.target)
        case _:
            assert_never(change)


def _undo_one(files: LocalFiles, change: JournaledChange) -> None:
    path = os.fsdecode(change.path)
    match change:
        case FileMade():
            now = files.read(path, MAX_BYTES)
            if change.old is None:
                files.remove(path, over=now)
            else:
                files.write(path, change.old, over=now)
        case LinkMade():
            link = files.read_link(path)
            if link is not None:
                files.remove(path, over=link)
        case FileRemoved():
            put_back_file(files, path, change.old, change.mode)
        case LinkRemoved():
            files.make_link(path, os.fsdecode(change.target))
        case _:
            assert_never(change)


def _content(files: LocalFiles, path: str) -> bytes | None:
    """The content of the file; None if it does not exist."""
    if presence_of(files.root / path) is Presence.ABSENT:
        return None
    return files.read(path, MAX_BYTES).data


def _target(files: LocalFiles, path: str) -> str | None:
    link = files.read_link(path)
    return None if link is None else link.target


def _report(undone: Sequence[str], left: Sequence[str]) -> str:
    text = "A session was killed in the middle of a patch."
    if undone:
        text += f" What it had changed was undone: {_quoted_names(undone)}."
    if left:
        text += f" Not restored, because they changed since or could not be written: {_quoted_names(left)}."
    return text


def _quoted_names(paths: Sequence[str]) -> str:
    shown = ", ".join(repr(path) for path in sorted(paths)[:MAX_NAMES])
    return shown if len(paths) <= MAX_NAMES else f"{shown} and {len(paths) - MAX_NAMES} more"
