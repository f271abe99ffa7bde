"""What a session looks like after its records: tasks, rows, turns, queue."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from robota.log.chain.record import Record
from robota.log.kinds.conversation import CondenseRecord, MessageRecord, RestoreRecord, TruncateRecord, TurnRecord
from robota.log.kinds.registry import Payload, PayloadError, payload_of
from robota.log.kinds.session import EndRecord, QueueRecord, SessionHeader, TaskRecord, TodosRecord
from robota.log.replay.context import Conversation, Reduced, conversation_of, reduction_id
from robota.protocol.conversation import Turn
from robota.protocol.message import Message, QueuedMessage, TodoItem
from robota.protocol.state import is_request_row

INTERRUPTED: Final = "interrupted"


class TaskHistory(msgspec.Struct, frozen=True, kw_only=True):
    """One task. `messages` are in the order of `ts`, each in its newest version; `outcome` is None until it ends.

    `mode` is empty if the record that began the task was lost. `turns` are all that were ever recorded; `conversation`
    is what the model is shown of them.
    """

    task_id: str
    mode: str = ""
    parent_task_id: str | None = None
    messages: tuple[Message, ...] = ()
    turns: tuple[Turn, ...] = ()
    reductions: tuple[Reduced, ...] = ()
    todos: tuple[TodoItem, ...] = ()
    outcome: str | None = None

    def conversation(self) -> Conversation:
        return conversation_of(self.turns, self.reductions)

    @property
    def context_tokens(self) -> int:
        """What of the window was filled when it was last known: by a request, or by a reduction after it."""
        return next((tokens for tokens in map(_context_tokens, reversed(self.messages)) if tokens), 0)


class UnreadPayload(msgspec.Struct, frozen=True, kw_only=True):
    """A record whose payload could not be understood; it was left out."""

    seq: int
    kind: str
    reason: str


class Projection(msgspec.Struct, frozen=True, kw_only=True):
    """A session as its records tell it. The current task is the newest that runs, or else the one that ended last."""

    header: SessionHeader | None = None
    tasks: dict[str, TaskHistory] = {}
    queue: tuple[QueuedMessage, ...] = ()
    current_task_id: str | None = None
    problems: tuple[UnreadPayload, ...] = ()

    @property
    def current(self) -> TaskHistory | None:
        return self.tasks.get(self.current_task_id or "")

    @property
    def ended(self) -> bool:
        """Whether nothing was left to do."""
        return self.current is None or self.current.outcome is not None


def project(records: Iterable[Record]) -> Projection:
    """Read the records of a session that nobody runs now: what was under way in the end is closed."""
    fold = _Fold()
    problems: list[UnreadPayload] = []
    for record in records:
        try:
            payload = payload_of(record)
        except PayloadError as error:
            problems.append(UnreadPayload(seq=record.seq, kind=record.kind, reason=str(error)))
            continue
        if payload is not None:
            fold.take(payload)
    return Projection(
        header=fold.header,
        tasks={task_id: task.history() for task_id, task in fold.tasks.items()},
        queue=fold.queue,
        current_task_id=fold.current_task_id,
        problems=tuple(problems),
    )


class _Fold:
    """The state of the session after the records so far."""

    def __init__(self) -> None:
        self.header: SessionHeader | None = None
        self.tasks: dict[str, _OpenTask] = {}
        self.queue: tuple[QueuedMessage, ...] = ()
        self.current_task_id: str | None = None

    def take(self, payload: Payload) -> None:
        match payload:
            case SessionHeader():
                self.header = payload
            case QueueRecord():
                self.queue = payload.queue
            case TaskRecord():
                self._begin(payload)
            case EndRecord():
                self._end(payload)
            case MessageRecord():
                self._task(payload.task_id).messages[payload.message.ts] = payload.message
            case TurnRecord():
                self._task(payload.task_id).turns.append(payload.turn)
            case CondenseRecord() | TruncateRecord():
                self._task(payload.task_id).reduce(payload)
            case RestoreRecord():
                self._task(payload.task_id).restore(payload.id)
            case TodosRecord():
                self._task(payload.task_id).todos = payload.todos
            case _:
                pass  # The audit trail: what was asked, decided and run. No part of the conversation.

    def _task(self, task_id: str) -> "_OpenTask":
        """The task; one whose beginning was lost is taken up where its first record shows it."""
        if task_id not in self.tasks:
            self.tasks[task_id] = _OpenTask(task_id)
            self.current_task_id = task_id
        return self.tasks[task_id]

    def _begin(self, record: TaskRecord) -> None:
        task = self._task(record.task_id)
        task.mode = record.mode
        task.parent_task_id = record.parent_task_id or task.parent_task_id
        task.outcome = None
        self.current_task_id = record.task_id

    def _end(self, record: EndRecord) -> None:
        task = self._task(record.task_id)
        task.outcome = record.outcome
        parent = self.tasks.get(task.parent_task_id or "")
        if parent is not None and parent.outcome is None and self.current_task_id == record.task_id:
            self.current_task_id = parent.task_id


class _OpenTask:
    """A task while its records are read."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        self.mode = ""
        self.parent_task_id: str | None = None
        self.messages: dict[int, Message] = {}
        self.turns: list[Turn] = []
        self.reductions: list[Reduced] = []
        self.todos: tuple[TodoItem, ...] = ()
        self.outcome: str | None = None

    def reduce(self, reduction: CondenseRecord | TruncateRecord) -> None:
        self.reductions.append(Reduced(after=len(self.turns), reduction=reduction))

    def restore(self, id: str) -> None:
        self.reductions = [reduced for reduced in self.reductions if reduction_id(reduced.reduction) != id]

    def history(self) -> TaskHistory:
        return TaskHistory(
            task_id=self.task_id,
            mode=self.mode,
            parent_task_id=self.parent_task_id,
            messages=_closed([self.messages[ts] for ts in sorted(self.messages)]),
            turns=tuple(self.turns),
            reductions=tuple(self.reductions),
            todos=self.todos,
            outcome=self.outcome,
        )


def _closed(rows: list[Message]) -> tuple[Message, ...]:
    """The rows with nothing left streaming, so that no reader waits for what will never come."""
    closed = [msgspec.structs.replace(row, partial=False, interrupted=True) if row.partial else row for row in rows]
    for place in reversed(range(len(closed))):
        if is_request_row(closed[place]):
            closed[place] = _closed_request(closed[place])
            break
    return tuple(closed)


def _closed_request(row: Message) -> Message:
    info = _request_info(row.text)
    if info is None or "cost" in info:
        return row
    closing = {"cost": 0, "cancelReason": info.get("cancelReason", INTERRUPTED)}
    return msgspec.structs.replace(row, text=msgspec.json.encode({**info, **closing}).decode(), interrupted=True)


def _context_tokens(row: Message) -> int:
    told = row.context_condense or row.context_truncation
    if told is not None:
        return _whole(told.get("newContextTokens"))
    info = _request_info(row.text) if is_request_row(row) else None
    return _whole(info.get("tokensIn")) + _whole(info.get("tokensOut")) if info else 0


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _request_info(text: str | None) -> dict[str, Any] | None:
    """The JSON object in a request row; None if there is something else, which then counts as finished."""
    if not text:
        return {}
    try:
        info = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return info if isinstance(info, dict) else None
