"""The state of a session at a record of its log, so that only later records have to be read to continue.

A snapshot contains nothing that is not in the log, and its size is bounded: the current task and its parents, their
newest rows, and the turns that the model sees.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from robota.log.chain.head import ChainHead
from robota.log.chain.reader import LineSpan, Loaded
from robota.log.kinds.calls import AnswerRecord, ToolStartRecord
from robota.log.kinds.conversation import CondenseRecord, TruncateRecord
from robota.log.kinds.session import NameRecord, SessionHeader
from robota.log.record import kind_of, registered_kinds
from robota.log.replay.branches import Jump, RecordSpan
from robota.log.replay.context import ContextBase, Piece, open_context_of
from robota.log.replay.rows.past_calls import CallEnds, EndedCall
from robota.log.replay.rows.row_pages import RowPages, with_rows
from robota.log.replay.session import SessionFold, UnreadableRecord
from robota.log.replay.task import TaskFold, is_between_turns
from robota.protocol.codec import encode, message_of
from robota.protocol.conversation import ToolResultBlock, Turn
from robota.protocol.message import Message, QueuedMessage, TodoItem
from robota.protocol.state import is_request_row

ROWS_KEPT: Final = 300
CHARACTERS_KEPT: Final = 2_000_000


class Segment(msgspec.Struct, frozen=True, gc=False):
    """A part of the log, from the end of the segment before it, and the SHA-256 of its bytes."""

    end: int
    digest: str


class StoredRow(msgspec.Struct, frozen=True, gc=False):
    """A row as JSON, which preserves fields of newer versions."""

    message: msgspec.Raw
    lines: LineSpan


class StoredReduction(msgspec.Struct, frozen=True, gc=False):
    """A reduction as the payload of its record."""

    kind: str
    payload: msgspec.Raw


class StoredPiece(msgspec.Struct, frozen=True, gc=False):
    """A piece, with the reduction that it comes from, if any."""

    number: int
    turn: Turn
    reduction: StoredReduction | None = None
    cuts: dict[str, str] = {}


class StoredContext(msgspec.Struct, frozen=True, kw_only=True):
    """A `ContextBase`. A turn that belongs to a piece is stored as the index of the piece."""

    recorded: int
    last: Turn | None
    pieces: list[StoredPiece]
    turns: list[int | Turn]
    reduction_ids: list[str]


class StoredTask(msgspec.Struct, frozen=True, kw_only=True):
    """A `TaskFold`."""

    task_id: str
    mode: str
    parent_task_id: str | None
    older: RowPages
    rows: list[StoredRow]
    calls: list[EndedCall]
    context: StoredContext
    undone: frozenset[str]
    pins: frozenset[int]
    todos: tuple[TodoItem, ...]
    outcome: str | None
    answers: list[AnswerRecord]
    running: list[ToolStartRecord]
    started: set[str]
    results: list[ToolResultBlock]
    files: dict[str, tuple[int, ...]]


class SessionSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state after reading the log up to `read`. `noted` is the note about the log that was confirmed then."""

    read: Loaded
    segments: tuple[Segment, ...]
    noted: ChainHead | None
    jumps: tuple[Jump, ...]
    header: SessionHeader | None
    renamed: NameRecord | None
    queue: tuple[QueuedMessage, ...]
    current_task_id: str | None
    tasks: list[StoredTask]
    left_tasks: frozenset[str]
    problems: tuple[UnreadableRecord, ...]


def bound_rows(fold: SessionFold, branch: tuple[RecordSpan, ...], most_rows: int = ROWS_KEPT) -> None:
    """Keep only the newest rows of each task in memory, and the positions of the others in the log."""
    for task in fold.tasks.values():
        stamps = sorted(task.messages)
        old = stamps[: _first_kept([task.messages[ts] for ts in stamps], most_rows)]
        if old:
            rows = [(task.messages.pop(ts), task.spans.pop(ts)) for ts in old]
            task.older = with_rows(task.older, rows, branch)
            task.calls.let_go(old[-1])
            task.answers = {ts: answer for ts, answer in task.answers.items() if ts > task.older.last_ts}
        elif task.older.branch != branch:
            task.older = msgspec.structs.replace(task.older, branch=branch)


def let_go(fold: SessionFold, branch: tuple[RecordSpan, ...], most_rows: int = ROWS_KEPT) -> None:
    """Reduce the session in memory to what a snapshot holds."""
    bound_rows(fold, branch, most_rows)
    tasks = tasks_in(fold)
    fold.left_tasks |= fold.tasks.keys() - {task.task_id for task in tasks}
    fold.tasks = {task.task_id: _restored(task) for task in tasks}


def _first_kept(rows: Sequence[Message], most_rows: int) -> int:
    """The index of the oldest row to keep; the newest reply and the last ask are always kept."""
    start, room = len(rows), CHARACTERS_KEPT
    while start and len(rows) - start < most_rows and room > 0:
        start -= 1
        room -= len(rows[start].text or "")
    newest_request = next((place for place in reversed(range(len(rows))) if is_request_row(rows[place])), start)
    newest_other = next((place for place in reversed(range(len(rows))) if not is_between_turns(rows[place])), 0)
    return min(start, newest_request, newest_other)


def tasks_in(fold: SessionFold) -> list[StoredTask]:
    """The current task and its parents."""
    found: dict[str, TaskFold] = {}
    task = fold.tasks.get(fold.current_task_id or "")
    while task is not None and task.task_id not in found:
        found[task.task_id] = task
        task = fold.tasks.get(task.parent_task_id or "")
    return [_stored(each) for each in found.values()]


def fold_from(snapshot: SessionSnapshot) -> SessionFold:
    """The state of the session, ready for the records after the snapshot."""
    fold = SessionFold()
    fold.header, fold.renamed, fold.queue = snapshot.header, snapshot.renamed, snapshot.queue
    fold.current_task_id, fold.left_tasks = snapshot.current_task_id, snapshot.left_tasks
    fold.problems = list(snapshot.problems)
    fold.tasks = {task.task_id: _restored(task) for task in snapshot.tasks}
    return fold


def _stored(task: TaskFold) -> StoredTask:
    return StoredTask(
        task_id=task.task_id,
        mode=task.mode,
        parent_task_id=task.parent_task_id,
        older=task.older,
        rows=[StoredRow(msgspec.Raw(encode(task.messages[ts])), task.spans[ts]) for ts in sorted(task.messages)],
        calls=task.calls.ended,
        context=_stored_context(task),
        undone=task.undone,
        pins=task.pins,
        todos=task.todos,
        outcome=task.outcome,
        answers=list(task.answers.values()),
        running=list(task.running.values()),
        started=task.started,
        results=task.results,
        files=task.files,
    )


def _restored(stored: StoredTask) -> TaskFold:
    task = TaskFold(stored.task_id)
    task.mode, task.parent_task_id, task.outcome = stored.mode, stored.parent_task_id, stored.outcome
    task.older = stored.older
    for row in stored.rows:
        message = message_of(msgspec.json.decode(row.message))
        task.messages[message.ts] = message
        task.spans[message.ts] = row.lines
    task.calls = CallEnds(task.messages.values(), stored.calls)
    task.base = _base(stored.context)
    task.undone, task.pins, task.todos = stored.undone, stored.pins, stored.todos
    task.answers = {answer.ts: answer for answer in stored.answers}
    task.running = {call.call_id: call for call in stored.running}
    task.started, task.results, task.files = stored.started, stored.results, stored.files
    return task


def _stored_context(task: TaskFold) -> StoredContext:
    context = open_context_of(task.turns, task.reductions, task.base)
    places = {id(piece.turn): place for place, piece in enumerate(context.pieces)}
    return StoredContext(
        recorded=context.recorded,
        last=task.last_turn,
        pieces=[
            StoredPiece(piece.number, piece.turn, _stored_reduction(piece.reduction), piece.cuts)
            for piece in context.pieces
        ],
        turns=[places.get(id(turn), turn) for turn in context.turns],
        reduction_ids=list(context.reduction_ids),
    )


def _base(stored: StoredContext) -> ContextBase:
    pieces = [
        Piece(number=piece.number, turn=piece.turn, reduction=_reduction(piece.reduction), cuts=piece.cuts)
        for piece in stored.pieces
    ]
    return ContextBase(
        recorded=stored.recorded,
        last=stored.last,
        pieces=tuple(pieces),
        turns=tuple(pieces[turn].turn if isinstance(turn, int) else turn for turn in stored.turns),
        reduction_ids=tuple(stored.reduction_ids),
    )


def _stored_reduction(reduction: CondenseRecord | TruncateRecord | None) -> StoredReduction | None:
    return None if reduction is None else StoredReduction(kind_of(reduction), msgspec.Raw(reduction.to_json()))


def _reduction(stored: StoredReduction | None) -> CondenseRecord | TruncateRecord | None:
    if stored is None:
        return None
    payload = registered_kinds()[stored.kind].from_json(stored.payload)
    assert isinstance(payload, CondenseRecord | TruncateRecord)
    return payload
