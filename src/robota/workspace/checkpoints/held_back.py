"""Take files out of the workspace that a command put there unasked, keep them safe, and put them back if wanted.

They are saved in a checkpoint first. What checkpoints do not contain (a repository, a directory of packages, a file
that is too large or cannot be read) is renamed where it lies, so that no program takes it for what it was.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.checkpoints.checkpoint_change import CheckpointChange, CheckpointFile
from robota.workspace.checkpoints.ignored_files import IgnoredLimits
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.restore import apply_changes
from robota.workspace.checkpoints.store import CheckpointStore, OpenStore
from robota.workspace.files.confined_paths import directory_within, walk_to_directory
from robota.workspace.files.owner_rights import give_rights
from robota.workspace.files.package_directories import OF_PACKAGES

AS_A_WHOLE: Final = OF_PACKAGES | {".git"}
ENDING: Final = ".held-back"
# Longer ones, in bytes, cannot be given to git; no name in a directory is longer than the second.
MAX_PATH: Final = 3_000
MAX_NAME: Final = 200


class HeldBack(msgspec.Struct, frozen=True, kw_only=True):
    """What was taken out: files, which `checkpoint` contains, and the rest, with the names that they have now.

    `left` could not be taken out. Of what was renamed, `missing` could not be brought back as it was before. `diff` is
    what the command had done to the files.
    """

    checkpoint: str
    files: tuple[str, ...] = ()
    renamed: Mapping[str, str] = {}
    left: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    diff: bytes = b""

    @property
    def paths(self) -> tuple[str, ...]:
        """All that was taken out."""
        return (*self.files, *self.renamed)


class ChangedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What differs from a checkpoint, and ignored paths that are new but too large or too many to be saved."""

    files: tuple[CheckpointChange, ...]
    unsaved: tuple[str, ...] = ()


def hold_back(store: CheckpointStore, before: str, paths: Collection[str]) -> HeldBack:
    """Bring these paths back to their state in the checkpoint `before` a command. Raises `CheckpointError`.

    Other calls may be running: unlike a rewind, this must not wait for them, and touches nothing that they work on.
    """
    with store.opened() as opened, opened.top() as top:
        give_rights(top, paths)
        files = opened.files(before)
        saved = _save_and_undo(opened, top, before, [path for path in paths if _can_be_saved(path)], files)
        aside = [path for path in paths if saved is None or path not in saved.paths]
        named = {path: _rename(top, path, _aside(path)) for path in aside}
        renamed = {path: name for path, name in named.items() if name is not None}
        missing = _bring_back(opened, top, before, {path: files[path] for path in renamed if path in files})
    saved = saved or _Saved(checkpoint=before)
    left = tuple(path for path in paths if path not in renamed and path not in saved.paths)
    return HeldBack(
        checkpoint=saved.checkpoint,
        files=saved.undone,
        renamed=renamed,
        left=left,
        missing=missing,
        diff=saved.diff,
    )


class _Saved(msgspec.Struct, frozen=True, kw_only=True):
    """The paths that a checkpoint contains as they are now, and what was undone of that."""

    checkpoint: str
    paths: Collection[str] = ()
    undone: tuple[str, ...] = ()
    diff: bytes = b""


def _save_and_undo(
    opened: OpenStore, top: int, before: str, paths: Sequence[str], known: Mapping[str, CheckpointFile]
) -> _Saved | None:
    """None if that is impossible: the disk is full, or there are more files than checkpoints take."""
    opened.note_as_new(path for path in paths if path not in known)
    try:
        now = opened.capture(paths).id
        unsaved = {each.path for each in opened.details(now).not_captured}
        saved = opened.files(now).keys() & set(paths) - unsaved
        changes = _changes(opened, now, before, saved)
        diff = opened.diff(before, now, paths) if changes else b""
        apply_changes(opened.directory, opened.git, top, changes, opened.details(before))
    except CheckpointError:
        return None
    return _Saved(checkpoint=now, paths=saved, undone=tuple(change.path for change in changes), diff=diff)


def _bring_back(opened: OpenStore, top: int, target: str, files: Mapping[str, CheckpointFile]) -> tuple[str, ...]:
    """Bring files of a checkpoint back, at paths where nothing is any more; returns them if that is impossible.

    Nothing is captured: a command can see to it that this fails.
    """
    missing: list[str] = []
    for path, file in files.items():
        change = CheckpointChange(path=path, before=None, after=file)
        try:
            apply_changes(opened.directory, opened.git, top, (change,), opened.details(target))
        except CheckpointError:
            missing.append(path)
    return tuple(missing)


def _can_be_saved(path: str) -> bool:
    """Whether git takes the path, which programs that go from directory to directory can make longer."""
    return Path(path).name not in AS_A_WHOLE and len(os.fsencode(path)) < MAX_PATH


def _aside(path: str) -> str:
    return Path(path).name[:MAX_NAME] + ENDING


def put_back(store: CheckpointStore, held: HeldBack) -> None:
    """Put everything back that was taken out. Raises `CheckpointError`."""
    with store.opened() as opened, opened.top() as top:
        changes = _changes(opened, opened.capture(held.files).id, held.checkpoint, held.files)
        apply_changes(opened.directory, opened.git, top, changes, opened.details(held.checkpoint))
        for path, name in held.renamed.items():
            _rename(top, str(Path(path).parent / name), Path(path).name)


def changed_since(store: CheckpointStore, before: str) -> ChangedFiles:
    """What differs in the workspace from an earlier checkpoint. Raises `CheckpointError`.

    If ignored files were captured then, they are now: a command can write ignore rules that hide what it creates.
    """
    with store.opened() as opened, opened.top() as top:
        then = opened.details(before)
        limits = None if then.unsaved is None else IgnoredLimits()
        now = opened.capture(ignored=limits)
        if closed := [each.path for each in now.details.not_captured if each not in then.not_captured]:
            give_rights(top, closed)
            now = opened.capture(ignored=limits)
        changes = opened.changes(opened.completed(before), now.id)
    unsaved = () if then.unsaved is None else now.unsaved
    return ChangedFiles(files=changes, unsaved=tuple(path for path in unsaved if then.was_absent(path)))


def _changes(opened: OpenStore, now: str, target: str, paths: Collection[str]) -> tuple[CheckpointChange, ...]:
    chosen = frozenset(paths)
    return tuple(change for change in opened.changes(now, target) if change.path in chosen)


def _rename(top: int, path: str, new: str) -> str | None:
    """Give something in the workspace another name, in the directory that it is in now; no link is followed.

    Returns the name, which is another one if there is such a file already; None if that is impossible.
    """
    parent = Path(path).parent
    with suppress(OSError), directory_within(top, parent, walk_to_directory) as directory:
        free = next(name for name in _names(new) if not _exists(name, directory))
        os.rename(Path(path).name, free, src_dir_fd=directory, dst_dir_fd=directory)
        return free
    return None


def _names(name: str) -> Iterator[str]:
    yield name
    while True:
        yield f"{name}-{os.urandom(4).hex()}"


def _exists(name: str, directory: int) -> bool:
    try:
        os.lstat(name, dir_fd=directory)
    except FileNotFoundError:
        return False
    return True
