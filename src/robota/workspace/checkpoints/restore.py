"""Restore files from a checkpoint, all or none, even on a full disk and after `kill -9`.

Every new file is first written to a staging directory at the top of the workspace, and the files that are replaced are
kept there until all are in place. A journal in the store records the restore; the next process that opens the store
undoes one that was interrupted.
"""

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from hashlib import sha1
from pathlib import Path
from typing import IO, Final, Literal

import msgspec

from robota.config.sealed_state import ForeignState, seal, unseal
from robota.workspace.checkpoints.checkpoint_change import CheckpointChange
from robota.workspace.checkpoints.checkpoint_details import CheckpointDetails
from robota.workspace.checkpoints.private_git import CheckpointError, PrivateGit
from robota.workspace.checkpoints.scan import STAGING_PREFIX
from robota.workspace.files.confined_paths import best_opener, directory_within
from robota.workspace.files.exchange_names import exchange_names
from robota.workspace.files.open_for_writing import is_open_for_writing
from robota.workspace.files.owner_rights import give_rights

JOURNAL_NAME: Final = "restore.json"
REFUSED_NAME: Final = "refused-restore.json"
READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Opens the workspace, and closes it at the end.
OpenTop = Callable[[], AbstractContextManager[int]]


class _Step(msgspec.Struct, frozen=True, kw_only=True):
    """One path: the object id of the content that is put there, if any, and whether existing content is removed."""

    path: bytes
    new: str | None = None
    old: bool = False


class _Journal(msgspec.Struct, frozen=True, kw_only=True):
    """A restore in progress. Once it is `done`, only the staging directory remains to be removed.

    `directories` are parent directories of new files that existed before: they stay even if they are empty.
    """

    staging: str
    steps: tuple[_Step, ...]
    directories: tuple[bytes, ...] = ()
    state: Literal["under way", "done"] = "under way"


def apply_changes(
    store: Path, git: PrivateGit, top: int, changes: Sequence[CheckpointChange], details: CheckpointDetails
) -> None:
    """Bring every path to its `after` state, or raise `CheckpointError` and leave everything unchanged.

    `top` is the open workspace: what its path leads to may change meanwhile. Each path must be in its `before` state.
    `details` belong to the checkpoint that is restored. Rights that a directory lacks are given to its owner: a command
    can take them away after it has changed something there.
    """
    try:
        _apply(store, git, top, changes, details)
    except CheckpointError:
        if os.geteuid() == 0:
            raise
        give_rights(top, [change.path for change in changes])
        _apply(store, git, top, changes, details)


def _apply(
    store: Path, git: PrivateGit, top: int, changes: Sequence[CheckpointChange], details: CheckpointDetails
) -> None:
    staging = f"{os.fsdecode(STAGING_PREFIX)}{os.urandom(8).hex()}"
    ordered = sorted(changes, key=lambda change: change.after is not None)  # deletions first, to make room
    steps = tuple(map(_step, ordered))
    there = tuple(os.fsencode(each) for each in _directories_of(steps) if _is_directory(top, each))
    journal = _Journal(staging=staging, steps=steps, directories=there)
    _write_journal(store, git.workspace, journal)
    try:
        os.mkdir(staging, mode=0o700, dir_fd=top)
        with _open_directories(top, staging) as opened:
            _write_drafts(git, ordered, opened.staged, details)
            for number, step in enumerate(steps):
                _perform_step(opened, number, step)
            _check_replaced(ordered, opened.staged)
    except BaseException as error:
        _finish(store, journal, top)
        if isinstance(error, OSError):
            path = "" if error.filename is None else f" ({os.fsdecode(error.filename)!r})"
            header = f"{error.strerror or error}{path}. Nothing was changed"
            raise CheckpointError(header) from error
        raise
    journal = msgspec.structs.replace(journal, state="done")
    _write_journal(store, git.workspace, journal)
    _remove_empty_directories(top, [step for step in steps if step.new is None])
    _finish(store, journal, top)


def are_as_before(top: int, changes: Sequence[CheckpointChange], details: CheckpointDetails) -> bool:
    """Whether every path is in its `before` state. `details` belong to the checkpoint with that state."""
    with _open_directories(top, "") as opened:
        return all(_is_as_before(opened, change, details) for change in changes)


def _is_as_before(opened: "_OpenDirectories", change: CheckpointChange, details: CheckpointDetails) -> bool:
    directory, name = os.path.split(change.path)
    try:
        parent = opened.directory(directory)
        content, status = _content_name(name, parent), os.lstat(name, dir_fd=parent)
    except OSError:  # nothing there, or its directory is a file or a link
        return change.before is None
    if change.before is None:
        return content is None
    if content != change.before.content:
        return False
    if change.before.is_link:
        return stat.S_ISLNK(status.st_mode)
    mode = details.mode_of(change.path, is_executable=change.before.is_executable)
    return stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) == mode


def recover(store: Path, workspace: Path, open_top: OpenTop) -> None:
    """Undo a restore that was interrupted, or clean up after one that was complete."""
    try:
        journal = _read_journal(store, workspace)
    except FileNotFoundError:
        return
    except (ForeignState, msgspec.DecodeError) as problem:
        (store / JOURNAL_NAME).rename(store / REFUSED_NAME)
        raise CheckpointError(
            f"The record of an interrupted restore was refused: {problem}. No file was changed. It is kept as "
            f"{str(store / REFUSED_NAME)!r}; try again"
        ) from problem
    with open_top() as top:
        _finish(store, journal, top)


def _finish(store: Path, journal: _Journal, top: int) -> None:
    """Undo what is under way, and remove what a restore needed."""
    if _is_directory(top, journal.staging):
        with _open_directories(top, journal.staging) as opened:
            if journal.state == "under way":
                for number, step in reversed(list(enumerate(journal.steps))):
                    _undo(opened, number, step)
                stay = frozenset(map(os.fsdecode, journal.directories))
                _remove_empty_directories(top, [step for step in journal.steps if not step.old], stay)
            _remove_files(opened.staged)
        os.rmdir(journal.staging, dir_fd=top)
    (store / JOURNAL_NAME).unlink(missing_ok=True)


def _is_directory(top: int, name: str) -> bool:
    """Whether there is a directory, reached without following links."""
    try:
        with directory_within(top, Path(name), best_opener()):
            return True
    except OSError:
        return False


def _read_journal(store: Path, workspace: Path) -> _Journal:
    data = unseal(store, _purpose(workspace), (store / JOURNAL_NAME).read_bytes())
    return msgspec.json.decode(data, type=_Journal)


def _purpose(workspace: Path) -> str:
    return f"restore {workspace}"


def _write_journal(store: Path, workspace: Path, journal: _Journal) -> None:
    draft = store / f"{JOURNAL_NAME}.new"
    with draft.open("wb") as file:
        file.write(seal(store, _purpose(workspace), msgspec.json.encode(journal)))
        file.flush()
        os.fsync(file.fileno())
    draft.rename(store / JOURNAL_NAME)


def _write_drafts(
    git: PrivateGit, changes: Sequence[CheckpointChange], staged: int, details: CheckpointDetails
) -> None:
    new_files = [
        (number, change.path, change.after) for number, change in enumerate(changes) if change.after is not None
    ]
    with tempfile.TemporaryFile() as names:
        names.writelines(file.content.encode() + b"\n" for _, _, file in new_files)
        names.seek(0)
        process = git.start("cat-file", "--batch", "--buffer", stdin=names)
    assert process.stdout is not None
    try:
        for number, path, file in new_files:
            data = _next_content(process.stdout, file.content)
            draft = f"{number}.new"
            if file.is_link:
                os.symlink(os.fsdecode(data), draft, dir_fd=staged)
            else:
                _write_draft(draft, staged, data, details.mode_of(path, is_executable=file.is_executable))
    finally:
        process.kill()
        process.communicate()


def _next_content(answer: IO[bytes], name: str) -> bytes:
    """The next object in the output of `git cat-file --batch`, which must have this id."""
    header = answer.readline().split()
    if len(header) != 3 or header[1] != b"blob":
        raise CheckpointError(f"The content {name[:12]} is no longer in the store. Nothing was changed")
    data = _exactly(answer, int(header[2]))
    answer.read(1)
    return data


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) != length:
        raise CheckpointError("The store of checkpoints ended in the middle of a file. Nothing was changed")
    return data


def _write_draft(name: str, staged: int, data: bytes, mode: int) -> None:
    with os.fdopen(os.open(name, CREATE, 0o600, dir_fd=staged), "wb") as file:
        file.write(data)
        file.flush()
        os.fchmod(file.fileno(), mode)


def _step(change: CheckpointChange) -> _Step:
    new = None if change.after is None else change.after.content
    return _Step(path=os.fsencode(change.path), new=new, old=change.before is not None)


def _perform_step(opened: "_OpenDirectories", number: int, step: _Step) -> None:
    """Keep the existing file, then put the draft in its place, atomically where the system can."""
    directory, name = os.path.split(os.fsdecode(step.path))
    parent, staged = opened.directory(directory, create=step.new is not None), opened.staged
    draft, kept = f"{number}.new", f"{number}.old"
    if step.old and (step.new is None or not _hard_link(name, parent, kept, staged)):
        os.rename(name, kept, src_dir_fd=parent, dst_dir_fd=staged)
    if step.new is None:
        return
    if step.old:
        _replace(draft, kept, staged, name, parent)
    else:
        _remove_empty_tree(parent, name)
        _move_to_free_name(draft, staged, name, parent)


def _replace(draft: str, kept: str, staged: int, name: str, parent: int) -> None:
    """Put the draft in place of the file. If the file changed since it was kept, the newer version is kept instead."""
    if not (_exists(name, parent) and exchange_names(staged, draft, name, parent)):
        os.rename(draft, name, src_dir_fd=staged, dst_dir_fd=parent)
    else:
        os.rename(draft, kept, src_dir_fd=staged, dst_dir_fd=staged)


def _undo(opened: "_OpenDirectories", number: int, step: _Step) -> None:
    """Put the kept version back. A version that another program has written since is newer and is left."""
    directory, name = os.path.split(os.fsdecode(step.path))
    with suppress(OSError):
        parent, staged = opened.directory(directory, create=step.old), opened.staged
        draft, kept = f"{number}.new", f"{number}.old"
        now, is_kept = _content_name(name, parent), _exists(kept, staged)
        # A step that only changes a mode has the same content before and after: if nothing was kept, it was not done.
        was_done = is_kept if step.old else _was_put(draft, staged, name, parent)
        if step.new is not None and now == step.new and was_done:
            os.unlink(name, dir_fd=parent)
            now = None
        if is_kept and now is None:
            _remove_empty_tree(parent, name)
            _move_to_free_name(kept, staged, name, parent)


class _OpenDirectories:
    """Open directories of a workspace, reached without following links: the staging one, and one other at a time."""

    def __init__(self, top: int, staged: int) -> None:
        self.staged = staged
        self._top = top
        self._name: str | None = None
        self._opened = ExitStack()

    def directory(self, name: str, *, create: bool = False) -> int:
        """A descriptor of that directory, valid until the next call: changes are sorted by directory."""
        if name != self._name:
            self.close()
            beneath = directory_within(self._top, Path(name), best_opener(), create=create)
            self._descriptor = self._opened.enter_context(beneath)
            self._name = name
        return self._descriptor

    def close(self) -> None:
        """Close everything but the staging directory."""
        self._name = None
        self._opened.close()


@contextmanager
def _open_directories(top: int, staging: str) -> Iterator[_OpenDirectories]:
    with directory_within(top, Path(staging), best_opener()) as staged:
        opened = _OpenDirectories(top, staged)
        try:
            yield opened
        finally:
            opened.close()


def _hard_link(name: str, parent: int, kept: str, staged: int) -> bool:
    try:
        os.link(name, kept, src_dir_fd=parent, dst_dir_fd=staged, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except OSError:  # no hard links on this file system, or a file of another user
        return False
    return True


def _move_to_free_name(source: str, staged: int, name: str, parent: int) -> None:
    """Move a file or link to a free name; `FileExistsError` if the name is taken."""
    if not _hard_link_to_new(source, staged, name, parent):
        if _exists(name, parent):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
        os.rename(source, name, src_dir_fd=staged, dst_dir_fd=parent)
        return
    os.unlink(source, dir_fd=staged)


def _hard_link_to_new(source: str, staged: int, name: str, parent: int) -> bool:
    try:
        os.link(source, name, src_dir_fd=staged, dst_dir_fd=parent, follow_symlinks=False)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError as error:
        if error.errno in FULL:
            raise
        return False
    return True


def _was_put(draft: str, staged: int, name: str, parent: int) -> bool:
    """Whether the file of this name is the draft: the draft left the staging directory, or both are the same file."""
    try:
        return os.lstat(draft, dir_fd=staged).st_ino == os.lstat(name, dir_fd=parent).st_ino
    except FileNotFoundError:
        return True


def _check_replaced(changes: Sequence[CheckpointChange], staged: int) -> None:
    """Raise if a replaced file is not as in the checkpoint made before: then another program changed it meanwhile."""
    for number, change in enumerate(changes):
        kept = f"{number}.old"
        if change.before is None:
            continue
        if is_open_for_writing(staged, kept) or _content_name(kept, staged) != change.before.content:
            raise CheckpointError(f"{change.path!r} was changed by another program just now. Nothing was restored")


def _content_name(name: str, parent: int) -> str | None:
    """The git object id of a file or link; empty for anything else, None if nothing is there."""
    try:
        status = os.lstat(name, dir_fd=parent)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        data = os.readlink(os.fsencode(name), dir_fd=parent)
    elif stat.S_ISREG(status.st_mode):
        with os.fdopen(os.open(name, READ, dir_fd=parent), "rb") as file:
            data = file.read()
    else:
        return None if stat.S_ISDIR(status.st_mode) else ""
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _exists(name: str, parent: int) -> bool:
    try:
        os.lstat(name, dir_fd=parent)
    except FileNotFoundError:
        return False
    return True


def _remove_empty_tree(parent: int, name: str) -> None:
    """Remove a directory that contains only empty directories; raises if there is more."""
    try:
        status = os.lstat(name, dir_fd=parent)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        return
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        for each in os.listdir(inner):  # noqa: PTH208 - of a descriptor
            _remove_empty_tree(inner, each)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=parent)


def _directories_of(steps: Sequence[_Step]) -> set[str]:
    """All parent directories, up to the workspace, of files that a step creates."""
    directories: set[str] = set()
    for step in steps:
        directory = "" if step.old else os.path.split(os.fsdecode(step.path))[0]
        while directory and directory not in directories:
            directories.add(directory)
            directory = os.path.split(directory)[0]
    return directories


def _remove_empty_directories(top: int, steps: Sequence[_Step], stay: Collection[str] = ()) -> None:
    """Remove directories that became empty, up to the workspace or to one in `stay`."""
    for directory in {os.path.split(os.fsdecode(step.path))[0] for step in steps}:
        path = directory
        while path and path not in stay:
            above, name = os.path.split(path)
            try:
                with directory_within(top, Path(above), best_opener()) as parent:
                    os.rmdir(name, dir_fd=parent)
            except OSError:
                break
            path = above


def _remove_files(directory: int) -> None:
    for name in os.listdir(directory):
        os.unlink(name, dir_fd=directory)
