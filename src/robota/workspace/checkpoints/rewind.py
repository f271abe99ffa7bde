"""Restore the workspace to a checkpoint. The current state is captured first, so nothing is ever lost."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.checkpoints.checkpoint_change import CheckpointChange
from robota.workspace.checkpoints.hunks import with_hunks_taken_back
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.restore import apply_changes, are_as_before
from robota.workspace.checkpoints.scan import NotCaptured
from robota.workspace.checkpoints.store import Captured, CheckpointStore, OpenStore
from robota.workspace.checkpoints.work_lock import lock_for_restore
from robota.workspace.files.path_status import may_be_present

FINGERPRINT_LENGTH: Final = 16
# Whether a path is selected.
Chosen = Callable[[str], bool]


class RestorePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a restore will do. `saved` and `after` are checkpoints of the workspace before and after it.

    `left` is what is not touched, and why. `saved_new_work`: the state before was in no checkpoint yet.
    """

    saved: str
    target: str
    after: str
    changes: tuple[CheckpointChange, ...]
    left: tuple[NotCaptured, ...] = ()
    saved_new_work: bool = False
    diff: bytes = b""

    @property
    def fingerprint(self) -> str:
        """A hash that is equal for plans that make the same changes to the same files."""
        return sha256(repr(self.changes).encode("utf-8", "surrogateescape")).hexdigest()[:FINGERPRINT_LENGTH]


def plan_restore(
    store: CheckpointStore, target: str, only: Sequence[str] = (), hunks: Sequence[int] = ()
) -> RestorePlan:
    """Plan to restore the workspace, or only these files and directories, or only these changes of one file.

    Nothing is changed yet.
    """
    selection = [_inside(store, each) for each in only]

    def is_chosen(path: str) -> bool:
        return not selection or any(
            selected in (".", path) or path.startswith(f"{selected}/") for selected in selection
        )

    with store.opened() as opened:
        target = opened.completed(target)
        if hunks:
            target = with_hunks_taken_back(opened, target, selection, hunks)
        return _plan(opened, target, is_chosen)


def nowhere(store: CheckpointStore, target: str, paths: Sequence[str]) -> list[str]:
    """The paths that exist neither now nor in the target, so that they are probably mistyped."""
    with store.opened() as opened:
        then = opened.files(opened.completed(target))
    relative_paths = {path: _inside(store, path) for path in paths}
    missing = {
        path: relative for path, relative in relative_paths.items() if not may_be_present(store.workspace / relative)
    }
    return [
        path
        for path, relative in missing.items()
        if not any(each == relative or each.startswith(f"{relative}/") for each in then)
    ]


def _inside(store: CheckpointStore, path: str) -> str:
    """A path in the form that checkpoints use. Raises `CheckpointError` for one outside the workspace."""
    relative = os.path.relpath(Path(store.workspace, path), store.workspace)
    if relative == ".." or relative.startswith("../"):
        raise CheckpointError(f"{path!r} is not in the workspace {store.workspace}. Nothing was changed")
    return relative


def plan_reversal(store: CheckpointStore, before: str, after: str) -> RestorePlan:
    """Plan to undo a restore that led from one checkpoint to another: only what it changed."""
    with store.opened() as opened:
        changed = frozenset(change.path for change in opened.changes(before, after))
        return _plan(opened, before, changed.__contains__)


def carry_out(store: CheckpointStore, plan: RestorePlan) -> None:
    """Change the files, all or none.

    Raises `CheckpointError`, also if the workspace changed since the plan was made, or a call is changing files in it.
    """
    with store.opened() as opened, lock_for_restore(opened.directory), opened.top() as top:
        paths = [change.path for change in plan.changes]
        if not are_as_before(top, plan.changes, opened.details(plan.saved)):
            now = opened.capture(paths).id
            if any(change.path in paths for change in opened.changes(plan.saved, now)):
                raise CheckpointError("A file has changed since the preview. Nothing was restored; review it again")
        if plan.changes:
            apply_changes(opened.directory, opened.git, top, plan.changes, opened.details(plan.target))
            # `after` is now the state of the workspace. Recording that only makes the next capture faster.
            with suppress(CheckpointError, OSError):
                opened.capture_only(paths)


def _plan(opened: OpenStore, target: str, is_chosen: Chosen) -> RestorePlan:
    details = opened.details(target)
    now = opened.capture()
    changes = _differing(opened, now, target, is_chosen)
    overlooked = [each.path for each in changes if each.before is None and may_be_present(opened.workspace / each.path)]
    is_new = now.is_new
    if overlooked:
        # Ignored but existing: it has to be saved before it is replaced.
        now = opened.capture(overlooked)
        is_new = is_new or now.is_new
        changes = _differing(opened, now, target, is_chosen)
    not_captured = {each.path: each for each in (*details.not_captured, *now.details.not_captured)}
    left = tuple(not_captured[each.path] for each in changes if each.path in not_captured)
    changes = tuple(each for each in changes if each.path not in not_captured)
    return RestorePlan(
        saved=now.id,
        target=target,
        after=opened.with_changes(now.id, changes, target),
        changes=changes,
        left=left,
        saved_new_work=is_new,
        diff=_diff(opened, now, target, changes),
    )


def _differing(opened: OpenStore, now: Captured, target: str, is_chosen: Chosen) -> tuple[CheckpointChange, ...]:
    return tuple(each for each in opened.changes(now.id, target) if is_chosen(each.path))


def _diff(opened: OpenStore, now: Captured, target: str, changes: Sequence[CheckpointChange]) -> bytes:
    """The difference as text, including changes of modes that git does not store."""
    if not changes:
        return b""
    text = opened.diff(now.id, target, [each.path for each in changes])
    details = opened.details(target)
    for each in changes:
        if each.before is not None and each.before == each.after:
            path, is_executable = os.fsencode(each.path), each.before.is_executable
            old = now.details.mode_of(each.path, is_executable=is_executable)
            new = details.mode_of(each.path, is_executable=is_executable)
            text += b"diff --git a/%s b/%s\nold mode 100%03o\nnew mode 100%03o\n" % (path, path, old, new)
    return text
