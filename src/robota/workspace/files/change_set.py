"""Apply changes to several files, all or none.

Each change is atomic by itself; if one fails, the ones before it are undone. Files are removed last, so that an
interruption at any point loses no content. If the process is killed, the next session undoes them from a journal.
"""

import os
import stat
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from hashlib import sha256
from pathlib import Path
from typing import assert_never

import msgspec

from robota.workspace.files.atomic_write import Content
from robota.workspace.files.change_journal import (
    FileMade,
    FileRemoved,
    JournaledChange,
    LinkMade,
    LinkRemoved,
    journaled,
)
from robota.workspace.files.confined_paths import directory_beneath, walk_to_directory
from robota.workspace.files.drafts import journal_directory
from robota.workspace.files.files import EditableFiles, FileData, LinkData
from robota.workspace.files.path_status import may_be_present
from robota.workspace.problems import FileProblem


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """New content for a file; without `over`, the file is new. `mode_of` names a file whose mode is copied."""

    path: str
    data: Content
    over: FileData | None = None
    mode_of: str | None = None


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A new symbolic link."""

    path: str
    target: str


class Remove(msgspec.Struct, frozen=True, kw_only=True):
    """Delete a file that still has the content `over`, or a link that still has the target in `over`."""

    path: str
    over: FileData | LinkData


Change = Write | Link | Remove


class ChangesFailed(FileProblem):
    """One of the changes failed; the message says what happened to the others."""


class _Done(msgspec.Struct, frozen=True, kw_only=True):
    """What is needed to undo a change: the mode of the file and the directories that were created for it."""

    change: Change
    mode: int
    new_directories: tuple[Path, ...] = ()


def make_changes(files: EditableFiles, changes: Sequence[Change]) -> None:
    """Apply all changes, or raise `ChangesFailed` and restore everything. No two may concern the same file."""
    in_order = sorted(changes, key=lambda change: isinstance(change, Remove))
    with ExitStack() as stack:
        if files.journals_in is not None and len(in_order) > 1:
            # Without a writable home, the changes are made without a journal; invalid ones fail when applied.
            with suppress(OSError, FileProblem):
                entries = [_journaled(files, change) for change in in_order]
                stack.enter_context(journaled(journal_directory(files.journals_in, files.root), files.root, entries))
        _make_all(files, in_order)


def _make_all(files: EditableFiles, changes: Sequence[Change]) -> None:
    done: list[_Done] = []
    try:
        for change in changes:
            done.append(_carry_out(files, change))
    except BaseException as error:
        left = [problem for each in reversed(done) if (problem := _undone(files, each))]
        if isinstance(error, FileProblem):
            raise ChangesFailed(_report(error, len(done), left)) from error
        raise


def _journaled(files: EditableFiles, change: Change) -> JournaledChange:
    match change:
        case Write():
            return FileMade(
                path=_from_root(files, files.resolve(change.path)),
                old=None if change.over is None else change.over.data,
                digest=_digest(change.data),
                new_directories=_new_directories(files, change.path),
            )
        case Link():
            name, target = _from_root(files, files.root / change.path), os.fsencode(change.target)
            return LinkMade(path=name, target=target, new_directories=_new_directories(files, change.path))
        case Remove():
            if isinstance(change.over, LinkData):
                name, target = _from_root(files, files.root / change.path), os.fsencode(change.over.target)
                return LinkRemoved(path=name, target=target)
            real = files.resolve(change.path)
            return FileRemoved(
                path=_from_root(files, real), old=change.over.data, mode=stat.S_IMODE(os.lstat(real).st_mode)
            )
        case _:
            assert_never(change)


def _new_directories(files: EditableFiles, path: str) -> tuple[bytes, ...]:
    return tuple(_from_root(files, directory) for directory in _missing_directories(files, path))


def _from_root(files: EditableFiles, path: Path) -> bytes:
    return os.fsencode(os.path.relpath(path, files.root))


def _digest(data: Content) -> bytes:
    digest = sha256()
    for part in (data,) if isinstance(data, bytes) else data.parts:
        digest.update(part)
    return digest.digest()


def _carry_out(files: EditableFiles, change: Change) -> _Done:
    match change:
        case Write():
            return _write(files, change)
        case Link():
            directories = _missing_directories(files, change.path)
            files.make_link(change.path, change.target)
            return _Done(change=change, mode=0, new_directories=directories)
        case Remove():
            mode = 0 if isinstance(change.over, LinkData) else _mode(files, change.path)
            files.remove(change.path, over=change.over)
            return _Done(change=change, mode=mode)
        case _:
            assert_never(change)


def _write(files: EditableFiles, change: Write) -> _Done:
    directories = _missing_directories(files, change.path)
    mode = _mode(files, change.mode_of) if change.mode_of else 0
    if change.over is None and may_be_present(files.resolve(change.path)):
        raise FileProblem(f"{change.path!r} already exists. It was not changed. Read it, or choose another name.")
    try:
        files.write(change.path, change.data, over=change.over)
    except FileProblem:
        remove_directories(files, directories)
        raise
    if change.mode_of:
        _set_mode(files, change.path, mode)
    return _Done(change=change, mode=mode, new_directories=directories)


def _undone(files: EditableFiles, done: _Done) -> str:
    """Undo one change; returns a message if that is impossible."""
    change = done.change
    try:
        match change:
            case Remove():
                _put_back(files, change, done.mode)
            case Link():
                _remove_link(files, change)
                remove_directories(files, done.new_directories)
            case Write():
                return _unwritten(files, change, done)
            case _:
                assert_never(change)
    except (FileProblem, OSError) as problem:
        return f"{change.path!r} could not be restored: {problem}"
    return ""


def _unwritten(files: EditableFiles, change: Write, done: _Done) -> str:
    now = files.read(change.path, len(change.data))
    if now.data != bytes(change.data):
        return f"{change.path!r} was changed by another program meanwhile and was left unchanged."
    if change.over is not None:
        files.write(change.path, change.over.data, over=now)
        return ""
    files.remove(change.path, over=now)
    remove_directories(files, done.new_directories)
    return ""


def _put_back(files: EditableFiles, change: Remove, mode: int) -> None:
    if isinstance(change.over, LinkData):
        files.make_link(change.path, change.over.target)
        return
    put_back_file(files, change.path, change.over.data, mode)


def put_back_file(files: EditableFiles, path: str, data: bytes, mode: int) -> None:
    """Restore a deleted file with its content and mode."""
    files.write(path, data)
    _set_mode(files, path, mode)


def _remove_link(files: EditableFiles, change: Link) -> None:
    now = files.read_link(change.path)
    if now is not None and now.target == change.target:
        files.remove(change.path, over=now)


def _report(error: FileProblem, count: int, left: Sequence[str]) -> str:
    if left:
        return f"{error} The changes made before it were undone, but not all: {' '.join(left)}"
    undone = f"The {count} change(s) made before it were undone, so" if count else "Everything stopped there:"
    return f"{error} {undone} nothing is changed."


def _missing_directories(files: EditableFiles, path: str) -> tuple[Path, ...]:
    """The directories that a write will have to create, deepest first."""
    real = files.resolve(path)
    above = [directory for directory in real.parents if directory.is_relative_to(files.root)]
    return tuple(directory for directory in above if not directory.exists())


def remove_directories(files: EditableFiles, directories: Sequence[Path]) -> None:
    """Remove the directories that are empty."""
    for directory in directories:
        with suppress(OSError), directory_beneath(files.root, directory.parent, walk_to_directory) as parent:
            os.rmdir(directory.name, dir_fd=parent)


def _mode(files: EditableFiles, path: str) -> int:
    return stat.S_IMODE(os.lstat(files.resolve(path)).st_mode)


def _set_mode(files: EditableFiles, path: str, mode: int) -> None:
    real = files.resolve(path)
    with directory_beneath(files.root, real.parent, walk_to_directory) as parent:
        descriptor = os.open(real.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
        try:
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)
