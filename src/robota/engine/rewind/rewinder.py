"""Goes back in a session that nothing runs in: to a prompt or a call, and forth again."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from robota.contracts.rewind import RewindError
from robota.engine.record.journal import LogPort
from robota.log.errors import LogError
from robota.log.kinds.rewinds import RewindRecord, RewindStartRecord, RewoundFiles
from robota.log.record import Payload
from robota.log.replay.rewind_points import RewindHistory, RewindPoint, RewindStep, read_rewind_history
from robota.protocol.commands import RedoRewind, RewindRequest, RewindTo, UndoRewind
from robota.protocol.rewind import (
    LeftFile,
    PromptPoint,
    RefMove,
    RestoredFile,
    RewindAction,
    RewindCall,
    RewindResult,
    RewindScope,
)
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.rewind import RestorePlan, carry_out, nowhere, plan_restore, plan_reversal
from robota.workspace.checkpoints.store import CheckpointStore
from robota.workspace.git.ref_moves import RefMover, joined_moves, possible_moves, reversed_moves
from robota.workspace.git.run import GitError

ID_BYTES: Final = 8
REFS_NOT_MOVED: Final = "The rest was restored, but not all branches, tags or stash entries of git could be moved back:"
LEFT_OUT_NAMED: Final = 20
T = TypeVar("T")


class _Way(msgspec.Struct, frozen=True, kw_only=True):
    """A planned restore. `to` is absent if the conversation is already at that point, or stays as it is."""

    action: RewindAction
    to: int | None
    plan: RestorePlan | None
    refs: tuple[RefMove, ...] = ()
    left_refs: tuple[str, ...] = ()


class Rewinder:
    """Goes back in one session, or only looks if it has no `log` to write to.

    `open_store` gives the checkpoints of its workspace; absent if there are none. `refs` moves names of git.
    `index` is where the rewind history of the log is kept, and `progress` is told how much of the log was read if that
    takes long.
    """

    def __init__(
        self,
        path: Path,
        log: LogPort | None,
        open_store: Callable[[], CheckpointStore] | None,
        *,
        refs: RefMover | None = None,
        index: Path | None = None,
        progress: Callable[[int], object] = lambda _: None,
    ) -> None:
        self._path = path
        self._refs = refs
        self._index = index
        self._progress = progress
        self._log = log
        self._open_store = open_store
        self._store: CheckpointStore | None = None

    async def points(self, newest: int | None = None) -> tuple[PromptPoint, ...]:
        """Every prompt of the session, also those on branches that were left, or only the `newest` ones."""
        return await _in_thread(lambda: tuple(map(self._prompt_point, _last(self._history().points, newest))))

    async def diff(self, number: int | None) -> str:
        """What the calls of a prompt changed, or everything since the first change."""
        return await _in_thread(lambda: self._diff(number))

    async def preview(self, order: RewindRequest) -> RewindResult:
        """What the order would change, with the exact diff."""
        history, way = await _in_thread(lambda: self._worked_out(order))
        return _result(way, history)

    async def carry_out(self, order: RewindRequest) -> RewindResult:
        """Go back. Files change as a whole or not at all, and the conversation only after them."""
        history, way = await _in_thread(lambda: self._worked_out(order))
        result = _result(way, history)
        if order.state and order.state != result.state:
            raise RewindError("Files have changed since this preview. Nothing was changed; review it again")
        if not result.is_empty or not isinstance(order, RewindTo):
            # Also where nothing is left to undo it counts as undone, so that what was before it can be.
            assert self._log is not None, "this was only to be looked at"
            await self._restore_along(way, self._log)
        return result

    async def _restore_along(self, way: _Way, log: LogPort) -> None:
        name = os.urandom(ID_BYTES).hex()
        plan = way.plan if way.plan is not None and way.plan.changes else None
        files = None if plan is None else RewoundFiles(before=plan.saved, after=plan.after)
        if plan is not None and files is not None:
            await _write(log, RewindStartRecord(rewind_id=name, files=files))
            try:
                await _in_thread(lambda: carry_out(self._checkpoints(), plan))
            except RewindError:
                await _write(log, RewindRecord(rewind_id=name, action="failed"))
                raise
        moved, problem = await self._move_refs(way.refs)
        await _write(log, RewindRecord(rewind_id=name, action=way.action, to=way.to, files=files, refs=moved))
        if problem is not None:
            raise RewindError(f"{REFS_NOT_MOVED} {problem}") from problem

    async def _move_refs(self, moves: tuple[RefMove, ...]) -> tuple[tuple[RefMove, ...], GitError | None]:
        """Move names of git; returns what was moved, and what went wrong."""
        if self._refs is None or not moves:
            return (), None
        before = self._refs.names()
        try:
            await self._refs.move(moves)
        except GitError as error:
            now = self._refs.names()
            return tuple(move for move in moves if now.get(move.name) != before.get(move.name)), error
        return moves, None

    def _history(self) -> RewindHistory:
        return read_rewind_history(self._path, self._index, progress=self._progress)

    def _checkpoints(self) -> CheckpointStore:
        if self._open_store is None:
            raise RewindError("The settings disable checkpoints (checkpoints.enabled), so files cannot be restored")
        self._store = self._store or self._open_store()
        return self._store

    def _prompt_point(self, point: RewindPoint) -> PromptPoint:
        return PromptPoint(
            number=point.number,
            prompt=point.prompt,
            is_live=point.is_live,
            calls=tuple(RewindCall(id=call.id, tool=call.tool) for call in point.calls),
            files=self._files_changed(point),
            not_captured=point.not_captured,
            left_out=self._left_out(point),
        )

    def _files_changed(self, point: RewindPoint) -> tuple[str, ...] | None:
        if not point.calls or point.before is None:
            return ()
        try:
            changes = self._checkpoints().changes(point.before, point.after or self._checkpoints().capture().id)
        except (CheckpointError, RewindError):
            return None
        return tuple(_unicode_path(change.path) for change in changes)

    def _left_out(self, point: RewindPoint) -> tuple[LeftFile, ...]:
        """The first of the files that are not in its checkpoints, if these are still there."""
        if not point.not_captured or point.newest_checkpoint is None:
            return ()
        try:
            with self._checkpoints().opened() as opened:
                missing = opened.details(point.newest_checkpoint).not_captured
        except (CheckpointError, RewindError):
            return ()
        return tuple(LeftFile(path=_unicode_path(each.path), reason=each.reason) for each in missing[:LEFT_OUT_NAMED])

    def _diff(self, number: int | None) -> str:
        points = self._history().points
        if number is None:
            before = next((point.before for point in points if point.before is not None), None)
            after = None
        else:
            point = _numbered(points, number)
            before, after = (point.before, point.after) if point.calls else (None, None)
        if before is None:
            return ""
        store = self._checkpoints()
        return store.diff(before, after or store.capture().id).decode("utf-8", "replace")

    def _worked_out(self, order: RewindRequest) -> tuple[RewindHistory, _Way]:
        history = self._history()
        way = self._way(order, history)
        if way.to is not None and history.last_told(way.to) == history.last_told(history.last_seq):
            way = msgspec.structs.replace(way, to=None)
        return history, way

    def _way(self, order: RewindRequest, history: RewindHistory) -> _Way:
        match order:
            case RewindTo():
                return self._with_refs(self._way_to(order, history.points), order, history)
            case UndoRewind():
                if not history.undo:
                    raise RewindError("There is nothing to undo in this session")
                return self._way_off(RewindAction.UNDO, history.undo[-1])
            case RedoRewind():
                if not history.redo:
                    raise RewindError("There is nothing to redo in this session")
                return self._way_off(RewindAction.REDO, history.redo[-1])

    def _way_to(self, order: RewindTo, points: Sequence[RewindPoint]) -> _Way:
        if order.hunks and len(order.only) != 1:
            raise RewindError("Single changes are taken back in one file: name it in `only`")
        target, to = _target(order, points)
        is_part = bool(order.only) or order.scope is RewindScope.FILES
        plan = None
        if target is not None and order.scope is not RewindScope.CONVERSATION:
            plan = plan_restore(self._checkpoints(), target, order.only, order.hunks)
            if order.only and not plan.changes and (missing := nowhere(self._checkpoints(), target, order.only)):
                names = ", ".join(map(repr, missing))
                raise RewindError(f"{names} is not in the workspace, and was not in it then")
        return _Way(action=RewindAction.RESTORE, to=None if is_part else to, plan=plan)

    def _with_refs(self, way: _Way, order: RewindTo, history: RewindHistory) -> _Way:
        """The way, with the names of git that commands moved since then."""
        if order.only or order.scope is RewindScope.CONVERSATION:
            return way
        moved = history.refs_moved_since(_seq(order, history.points))
        return self._moving(way, reversed_moves(joined_moves(moved)))

    def _moving(self, way: _Way, moves: tuple[RefMove, ...]) -> _Way:
        if self._refs is None or not moves:
            return way
        possible, left = possible_moves(self._refs.names(), moves)
        return msgspec.structs.replace(way, refs=possible, left_refs=tuple(move.name for move in left))

    def _way_off(self, action: RewindAction, step: RewindStep) -> _Way:
        files = step.files
        plan = None if files is None else plan_reversal(self._checkpoints(), files.before, files.after)
        return self._moving(_Way(action=action, to=step.to, plan=plan), reversed_moves(step.refs))


async def _write(log: LogPort, record: Payload) -> None:
    try:
        log.append(record)
        await log.sync()
    except LogError as error:
        raise RewindError(str(error)) from error


async def _in_thread(work: Callable[[], T]) -> T:
    """Run a function that may block, in a thread."""
    try:
        return await asyncio.to_thread(work)
    except (CheckpointError, LogError) as error:
        raise RewindError(str(error)) from error


def _seq(order: RewindTo, points: Sequence[RewindPoint]) -> int:
    """The record that the order leads to, for what is recorded after a call's checkpoint."""
    if order.number is not None:
        return _numbered(points, order.number).seq
    return [call.seq for point in points for call in point.calls if call.id == order.call_id][-1]


def _target(order: RewindTo, points: Sequence[RewindPoint]) -> tuple[str | None, int]:
    """The checkpoint, and the record, that the order leads to."""
    if order.only and order.number is None and order.call_id is None:
        first = next((point for point in points if point.before is not None), None)
        if first is None:
            raise RewindError("Nothing was changed in this session yet")
        return first.before, first.to
    if (order.number is None) == (order.call_id is None):
        raise RewindError("Say where to rewind to: a prompt number or a call id")
    if order.number is not None:
        point = _numbered(points, order.number)
        return point.before, point.to
    calls = [call for point in points for call in point.calls if call.id == order.call_id]
    if not calls:
        raise RewindError(f"There is no checkpoint before a call {order.call_id!r} in this session")
    return calls[-1].checkpoint, calls[-1].to


def _last(points: Sequence[RewindPoint], newest: int | None) -> Sequence[RewindPoint]:
    return points if newest is None else points[max(0, len(points) - newest) :]


def _numbered(points: Sequence[RewindPoint], number: int) -> RewindPoint:
    if not 1 <= number <= len(points):
        raise RewindError(f"There is no prompt {number} in this session; it has {len(points)}")
    return points[number - 1]


def _result(way: _Way, history: RewindHistory) -> RewindResult:
    plan = way.plan
    result = RewindResult(action=way.action, refs=way.refs, left_refs=way.left_refs)
    if plan is not None:
        result = msgspec.structs.replace(
            result,
            files=tuple(RestoredFile(path=_unicode_path(each.path), kind=each.kind) for each in plan.changes),
            left_files=tuple(LeftFile(path=_unicode_path(each.path), reason=each.reason) for each in plan.left),
            saved_new_work=plan.saved_new_work,
            diff=plan.diff.decode("utf-8", "replace"),
            state=plan.fingerprint,
        )
    if way.to is None:
        return result
    live = history.live_at(way.to)
    left = [point for point in history.points if point.is_live and point.number not in live]
    now_live = {point.number for point in history.points if point.is_live}
    return msgspec.structs.replace(
        result,
        changes_conversation=True,
        left_prompts=tuple(point.number for point in left),
        returned_prompts=tuple(sorted(live - now_live)),
        draft=left[0].prompt if left and way.action is RewindAction.RESTORE else None,
    )


def _unicode_path(path: str) -> str:
    """A path as valid Unicode: bytes that are not text are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")
