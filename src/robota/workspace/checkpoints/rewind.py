"""Going back to a checkpoint and forth again. What is there now is captured first, so nothing is ever lost."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.checkpoints.checkpoint_change import CheckpointChange
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.restore import apply_changes
from robota.workspace.checkpoints.scan import NotCaptured
from robota.workspace.checkpoints.store import Captured, CheckpointStore, OpenStore

HISTORY_NAME: Final = "restores.json"
MOST_REMEMBERED: Final = 100


class RestoreStep(msgspec.Struct, frozen=True, kw_only=True):
    """A restore that can be taken back: these paths were as in that checkpoint."""

    checkpoint: str
    paths: tuple[str, ...]


class RestoreHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What can be undone and redone, the newest last."""

    undo: tuple[RestoreStep, ...] = ()
    redo: tuple[RestoreStep, ...] = ()


class RestorePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a restore would do or did. `saved` is the state before it, `left` what it does not touch and why.

    `saved_new_work` says that the state before was in no checkpoint yet.
    """

    saved: str
    target: str
    changes: tuple[CheckpointChange, ...]
    left: tuple[NotCaptured, ...] = ()
    saved_new_work: bool = False
    diff: bytes = b""


def plan_restore(store: CheckpointStore, target: str, only: Sequence[str] = ()) -> RestorePlan:
    """What restoring the checkpoint would change, with the exact diff. Nothing in the workspace changes."""
    with store.opened() as opened:
        return _plan(opened, opened.completed(target), only)


def restore(store: CheckpointStore, target: str, only: Sequence[str] = ()) -> RestorePlan:
    """Make the workspace, or only these paths, as they were. All or nothing; raises `CheckpointError`."""
    with store.opened() as opened:
        plan = _plan(opened, opened.completed(target), only)
        if plan.changes:
            done = _carry_out(opened, plan)
            history = _history(opened.directory)
            _write_history(opened.directory, RestoreHistory(undo=(*history.undo, done)[-MOST_REMEMBERED:]))
        return plan


def plan_undo(store: CheckpointStore) -> RestorePlan:
    """What `undo` would change."""
    with store.opened() as opened:
        step = _newest_undo(_history(opened.directory))
        return _plan(opened, step.checkpoint, step.paths, exactly=True)


def plan_redo(store: CheckpointStore) -> RestorePlan:
    """What `redo` would change."""
    with store.opened() as opened:
        step = _newest_redo(_history(opened.directory))
        return _plan(opened, step.checkpoint, step.paths, exactly=True)


def undo(store: CheckpointStore) -> RestorePlan:
    """Take the newest restore back."""
    with store.opened() as opened:
        history = _history(opened.directory)
        step = _newest_undo(history)
        plan = _plan(opened, step.checkpoint, step.paths, exactly=True)
        back = _carry_out(opened, plan, step.paths)
        _write_history(opened.directory, RestoreHistory(undo=history.undo[:-1], redo=(*history.redo, back)))
        return plan


def redo(store: CheckpointStore) -> RestorePlan:
    """Do again what was undone last."""
    with store.opened() as opened:
        history = _history(opened.directory)
        step = _newest_redo(history)
        plan = _plan(opened, step.checkpoint, step.paths, exactly=True)
        back = _carry_out(opened, plan, step.paths)
        _write_history(opened.directory, RestoreHistory(undo=(*history.undo, back), redo=history.redo[:-1]))
        return plan


def _newest_undo(history: RestoreHistory) -> RestoreStep:
    if not history.undo:
        raise CheckpointError("There is no restore to undo")
    return history.undo[-1]


def _newest_redo(history: RestoreHistory) -> RestoreStep:
    if not history.redo:
        raise CheckpointError("There is nothing to redo")
    return history.redo[-1]


def _plan(opened: OpenStore, target: str, only: Sequence[str], *, exactly: bool = False) -> RestorePlan:
    details = opened.details(target)
    now = opened.capture()
    changes = _differing(opened, now, target, only, exactly=exactly)
    overlooked = [
        each.path for each in changes if each.before is None and os.path.lexists(opened.workspace / each.path)
    ]
    is_new = now.is_new
    if overlooked:
        # Ignored by now, and there: it has to be saved before something else takes its place.
        now = opened.capture(overlooked)
        is_new = is_new or now.is_new
        changes = _differing(opened, now, target, only, exactly=exactly)
    not_captured = {each.path: each for each in (*details.not_captured, *now.details.not_captured)}
    left = tuple(not_captured[each.path] for each in changes if each.path in not_captured)
    changes = tuple(each for each in changes if each.path not in not_captured)
    diff = opened.diff(now.id, target, [each.path for each in changes]) if changes else b""
    return RestorePlan(saved=now.id, target=target, changes=changes, left=left, saved_new_work=is_new, diff=diff)


def _differing(
    opened: OpenStore, now: Captured, target: str, only: Sequence[str], *, exactly: bool
) -> tuple[CheckpointChange, ...]:
    changes = opened.changes(now.id, target)
    if exactly:
        wanted = frozenset(only)
        return tuple(each for each in changes if each.path in wanted)
    if not only:
        return changes
    return tuple(
        each for each in changes if any(each.path == path or each.path.startswith(f"{path}/") for path in only)
    )


def _carry_out(opened: OpenStore, plan: RestorePlan, paths: tuple[str, ...] = ()) -> RestoreStep:
    """Change the files. Says how to come back; `paths` are those that the step is about, if more than changed."""
    if plan.changes:
        apply_changes(opened.directory, opened.git, plan.changes, opened.details(plan.target).modes)
        opened.capture([each.path for each in plan.changes])
    return RestoreStep(checkpoint=plan.saved, paths=paths or tuple(each.path for each in plan.changes))


def _history(directory: Path) -> RestoreHistory:
    try:
        return msgspec.convert(json.loads((directory / HISTORY_NAME).read_bytes()), RestoreHistory)
    except (OSError, ValueError):
        return RestoreHistory()


def _write_history(directory: Path, history: RestoreHistory) -> None:
    draft = directory / f"{HISTORY_NAME}.new"
    draft.write_text(json.dumps(msgspec.to_builtins(history)))
    draft.rename(directory / HISTORY_NAME)
