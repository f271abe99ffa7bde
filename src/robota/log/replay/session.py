"""From the records of a log back to the session: the one place that says what a log means for its state."""

from collections.abc import Iterable
from typing import Any, Final, assert_never

import msgspec

from robota.log.kinds.calls import AnswerRecord, FileStampsRecord, ResultRecord, ToolEndRecord, ToolStartRecord
from robota.log.kinds.conversation import (
    CondenseRecord,
    CutRecord,
    MessageRecord,
    MessageTextRecord,
    PinRecord,
    Reduction,
    RestoreRecord,
    TruncateRecord,
    TurnRecord,
)
from robota.log.kinds.session import EndRecord, NameRecord, QueueRecord, SessionHeader, TaskRecord, TodosRecord
from robota.log.record import Payload, PayloadError, Record, payload_of
from robota.log.replay.branches import branch_of
from robota.log.replay.context import (
    ModelContext,
    Reduced,
    model_context_of,
    open_context_of,
    reduction_id,
    unanswered,
    with_results,
)
from robota.protocol.asks.kinds import IDLE_ASKS, INTERACTIVE_ASKS, RESUME_ASKS
from robota.protocol.conversation import AssistantTurn, ToolResultBlock, ToolUseBlock, Turn, Usage
from robota.protocol.message import Message, QueuedMessage, TodoItem
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.state import is_request_row

INTERRUPTED: Final = "interrupted"

# What changes the state of one task while it runs.
TaskPayload = (
    MessageRecord
    | MessageTextRecord
    | TurnRecord
    | CondenseRecord
    | TruncateRecord
    | CutRecord
    | RestoreRecord
    | PinRecord
    | TodosRecord
    | AnswerRecord
    | ToolStartRecord
    | ToolEndRecord
    | ResultRecord
    | FileStampsRecord
)


class TaskTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What the requests of a task used. The cost is None if the price of one of them is not known.

    `saved` is what they would have cost more without the provider's cache; None if nobody knew a price.
    """

    requests: int = 0
    usage: Usage = Usage()
    cost: float | None = 0.0
    saved: float | None = 0.0


class ReplayedTask(msgspec.Struct, frozen=True, kw_only=True):
    """One task. `messages` are in the order of `ts`, each in its newest version; `outcome` is None until it ends.
    `answers` are those of persons by the `ts` of the ask; `interrupted_calls` were started and have no end.

    `mode` is empty if the record that began the task was lost. `turns` are all that were ever recorded; `conversation`
    is what the model is shown of them; reductions that were `undone` no longer count. `results` are those of the last
    reply that are in no turn yet, and `started_calls` those of its calls that were begun. `files` are the newest stamps
    of what the model knows.
    """

    task_id: str
    mode: str = ""
    parent_task_id: str | None = None
    messages: tuple[Message, ...] = ()
    turns: tuple[Turn, ...] = ()
    reductions: tuple[Reduced, ...] = ()
    undone: frozenset[str] = frozenset()
    pins: frozenset[int] = frozenset()
    todos: tuple[TodoItem, ...] = ()
    outcome: str | None = None
    answers: dict[int, AnswerRecord] = {}
    interrupted_calls: tuple[ToolStartRecord, ...] = ()
    results: tuple[ToolResultBlock, ...] = ()
    started_calls: frozenset[str] = frozenset()
    files: dict[str, tuple[int, ...]] = {}

    @property
    def pending_ask(self) -> Message | None:
        """The last row, if it asks something that nobody answered before the task stopped."""
        last = self.messages[-1] if self.messages else None
        if last is None or last.ask is None or last.interrupted or last.is_answered or last.ts in self.answers:
            return None
        return last

    @property
    def waiting_ask(self) -> Message | None:
        """What was asked last and nobody answered; offers to resume, which are made anew each time, are passed over."""
        for row in reversed(self.messages):
            if row.ask in RESUME_ASKS and not row.is_answered:
                continue
            is_open = row.ask in INTERACTIVE_ASKS | IDLE_ASKS and not row.is_answered and row.ts not in self.answers
            return row if is_open else None
        return None

    @property
    def is_complete(self) -> bool:
        """Whether its result was there and nothing was asked of it since."""
        last = next((row for row in reversed(self.messages) if row.ask not in RESUME_ASKS), None)
        return last is not None and last.ask == "completion_result"

    @property
    def open_calls(self) -> tuple[ToolUseBlock, ...]:
        """The calls of the last reply that have no result."""
        known = {result.tool_use_id for result in self.results}
        last = self.turns[-1] if self.turns else None
        return tuple(call for call in unanswered(last) if call.id not in known)

    def conversation(self) -> ModelContext:
        """What the model is shown of the turns."""
        conversation = model_context_of(self.turns, self.reductions, self.results)
        conversation.pins = set(self.pins)
        return conversation

    def open_conversation(self) -> ModelContext:
        """The same for a task that goes on: calls without a result may still get one."""
        conversation = open_context_of(self.turns, self.reductions)
        conversation.pins = set(self.pins)
        return conversation

    @property
    def totals(self) -> TaskTotals:
        """What its requests used so far, those for summaries as far as their cost is known."""
        infos = [info for row in self.messages if is_request_row(row) and (info := _request_info(row.text))]
        summaries = [row.context_condense for row in self.messages if row.context_condense is not None]
        costs = [info.get("cost") for info in infos] + [told.get("cost") for told in summaries]
        known = [cost for cost in costs if isinstance(cost, int | float)]
        return TaskTotals(
            requests=len(infos) + len(summaries),
            usage=sum(map(_usage, infos), Usage()),
            cost=sum(known) if len(known) == len(costs) else None,
            saved=_sum_saved(infos),
        )

    @property
    def cost(self) -> float:
        """US dollars that the requests of the task cost, as far as prices are known."""
        infos = [_request_info(row.text) for row in self.messages if is_request_row(row)]
        costs = [info.get("cost") for info in infos if info]
        return sum(cost for cost in costs if isinstance(cost, int | float))

    @property
    def context_tokens(self) -> int:
        """What of the window was filled when it was last known: by a request, or by a reduction after it."""
        rows = (row for row in reversed(self.messages) if _reduction_id(row) not in self.undone)
        return next((tokens for tokens in map(_context_tokens, rows) if tokens), 0)


class UnreadableRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record whose payload could not be understood; it was left out."""

    seq: int
    kind: str
    reason: str


class ReplayedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session as its records tell it. The current task is the newest that runs, or else the one that ended last."""

    header: SessionHeader | None = None
    renamed: NameRecord | None = None
    tasks: dict[str, ReplayedTask] = {}
    queue: tuple[QueuedMessage, ...] = ()
    current_task_id: str | None = None
    problems: tuple[UnreadableRecord, ...] = ()

    @property
    def current(self) -> ReplayedTask | None:
        """The task that was current in the end."""
        return self.tasks.get(self.current_task_id or "")

    @property
    def root(self) -> ReplayedTask | None:
        """The task of the person that was current in the end: what works for it, works for this one."""
        task = self.current
        seen: set[str] = set()
        while task is not None and task.parent_task_id in self.tasks and task.task_id not in seen:
            seen.add(task.task_id)
            task = self.tasks[task.parent_task_id or ""]
        return task

    @property
    def name(self) -> str | None:
        """The name it was given last."""
        if self.renamed is not None:
            return self.renamed.name
        return self.header.name if self.header else None

    @property
    def permission_mode(self) -> PermissionMode | None:
        """The permission mode that was set last."""
        return self.header.permission_mode if self.header else None

    @property
    def ended(self) -> bool:
        """Whether nothing was left to do."""
        return self.current is None or self.current.outcome is not None


def replay(records: Iterable[Record]) -> ReplayedSession:
    """The session after these records, if nobody runs it now: what was under way in the end is closed.

    Where somebody went back, only the present branch counts. Approvals are not part of it: an answered ask was answered
    for that call only.
    """
    fold = SessionFold()
    for record in branch_of(tuple(records)):
        fold.take(record)
    return fold.session()


class SessionFold:
    """The state of the session after the records so far, all of one branch."""

    def __init__(self) -> None:
        self.header: SessionHeader | None = None
        self.renamed: NameRecord | None = None
        self.tasks: dict[str, _OpenTask] = {}
        self.queue: tuple[QueuedMessage, ...] = ()
        self.current_task_id: str | None = None
        self.problems: list[UnreadableRecord] = []

    def take(self, record: Record) -> None:
        """Take in the next record; one that cannot be understood is noted and left out."""
        try:
            payload = payload_of(record)
        except PayloadError as error:
            self.problems.append(UnreadableRecord(seq=record.seq, kind=record.kind, reason=str(error)))
            return
        if payload is not None:
            self._take_payload(payload)

    def session(self) -> ReplayedSession:
        """The session, if nobody runs it now."""
        return ReplayedSession(
            header=self.header,
            renamed=self.renamed,
            tasks={task_id: task.history() for task_id, task in self.tasks.items()},
            queue=self.queue,
            current_task_id=self.current_task_id,
            problems=tuple(self.problems),
        )

    def _take_payload(self, payload: Payload) -> None:
        # The kinds that most records have come first: the order is what a long log costs.
        match payload:
            case (
                MessageRecord()
                | MessageTextRecord()
                | TurnRecord()
                | CondenseRecord()
                | TruncateRecord()
                | CutRecord()
                | RestoreRecord()
                | PinRecord()
                | TodosRecord()
                | AnswerRecord()
                | ToolStartRecord()
                | ToolEndRecord()
                | ResultRecord()
                | FileStampsRecord()
            ):
                self._task(payload.task_id).take(payload)
            case SessionHeader():
                self.header = payload
            case NameRecord():
                self.renamed = payload
            case QueueRecord():
                self.queue = payload.queue
            case TaskRecord():
                self._begin(payload)
            case EndRecord():
                self._end(payload)
            case _:
                pass  # The audit trail and kinds of other rooms: no part of the session's state.

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
        self.undone: frozenset[str] = frozenset()
        self.pins: frozenset[int] = frozenset()
        self.todos: tuple[TodoItem, ...] = ()
        self.outcome: str | None = None
        self.answers: dict[int, AnswerRecord] = {}
        self.running: dict[str, ToolStartRecord] = {}
        self.started: set[str] = set()
        self.results: list[ToolResultBlock] = []
        self.files: dict[str, tuple[int, ...]] = {}

    def take(self, payload: TaskPayload) -> None:
        match payload:
            case MessageRecord():
                self.messages[payload.message.ts] = payload.message
            case MessageTextRecord():
                self._grow(payload.ts, payload.added)
            case TurnRecord():
                self._add(payload.turn)
            case CondenseRecord() | TruncateRecord() | CutRecord() | RestoreRecord() | PinRecord():
                self._take_reduction(payload)
            case TodosRecord():
                self.todos = payload.todos
            case AnswerRecord():
                self.answers[payload.ts] = payload
            case ToolStartRecord() | ToolEndRecord() | ResultRecord() | FileStampsRecord():
                self._take_call(payload)
            case _:
                assert_never(payload)

    def _take_reduction(self, payload: Reduction | RestoreRecord | PinRecord) -> None:
        match payload:
            case RestoreRecord():
                self.undone |= {payload.id}
                self.reductions = [each for each in self.reductions if reduction_id(each.reduction) != payload.id]
            case PinRecord():
                self.pins = self.pins | {payload.turn} if payload.is_pinned else self.pins - {payload.turn}
            case CondenseRecord() | TruncateRecord() | CutRecord():
                self.reductions.append(Reduced(after=len(self.turns), reduction=payload))
            case _:
                assert_never(payload)

    def _take_call(self, payload: ToolStartRecord | ToolEndRecord | ResultRecord | FileStampsRecord) -> None:
        match payload:
            case ToolStartRecord():
                self.running[payload.call_id] = payload
                self.started.add(payload.call_id)
            case ToolEndRecord():
                self.running.pop(payload.call_id, None)
            case ResultRecord():
                self.results.append(payload.result)
            case FileStampsRecord():
                self.files.update(payload.files)
            case _:
                assert_never(payload)

    def _add(self, turn: Turn) -> None:
        """Take in a turn; one of the user has the results that were written before it."""
        if isinstance(turn, AssistantTurn):
            self.started.clear()
        elif self.results:
            turn = with_results(turn, self.results, self.turns[-1] if self.turns else None)
        self.results.clear()
        self.turns.append(turn)

    def _grow(self, ts: int, added: str) -> None:
        row = self.messages.get(ts)
        if row is not None:
            self.messages[ts] = msgspec.structs.replace(row, text=(row.text or "") + added)

    def history(self) -> ReplayedTask:
        return ReplayedTask(
            task_id=self.task_id,
            mode=self.mode,
            parent_task_id=self.parent_task_id,
            messages=_closed([self.messages[ts] for ts in sorted(self.messages)]),
            turns=tuple(self.turns),
            reductions=tuple(self.reductions),
            undone=self.undone,
            pins=self.pins,
            todos=self.todos,
            outcome=self.outcome,
            answers=self.answers,
            interrupted_calls=tuple(self.running.values()),
            results=tuple(self.results),
            started_calls=frozenset(self.started),
            files=self.files,
        )


def _closed(rows: list[Message]) -> tuple[Message, ...]:
    """The rows with nothing left streaming, so that no reader waits for what will never come."""
    closed = (msgspec.structs.replace(row, partial=False, interrupted=True) if row.partial else row for row in rows)
    return tuple(_closed_request(row) if is_request_row(row) else row for row in closed)


def _closed_request(row: Message) -> Message:
    info = _request_info(row.text)
    if info is None or "cost" in info:
        return row
    closing = {"cost": 0, "cancelReason": info.get("cancelReason", INTERRUPTED)}
    return msgspec.structs.replace(row, text=msgspec.json.encode({**info, **closing}).decode(), interrupted=True)


def _reduction_id(row: Message) -> str:
    """The id of the condensation or truncation that a row tells of; empty if it tells of none."""
    told = row.context_condense or row.context_truncation or {}
    identity = told.get("condenseId") or told.get("truncationId")
    return identity if isinstance(identity, str) else ""


def _context_tokens(row: Message) -> int:
    told = row.context_condense or row.context_truncation
    if told is not None:
        return _whole(told.get("newContextTokens"))
    info = _request_info(row.text) if is_request_row(row) else None
    return _whole(info.get("tokensIn")) + _whole(info.get("tokensOut")) if info else 0


def _usage(info: dict[str, Any]) -> Usage:
    written, read = _whole(info.get("cacheWrites")), _whole(info.get("cacheReads"))
    return Usage(
        input_tokens=max(0, _whole(info.get("tokensIn")) - written - read),
        output_tokens=_whole(info.get("tokensOut")),
        cache_creation_input_tokens=written,
        cache_read_input_tokens=read,
    )


def _sum_saved(infos: list[dict[str, Any]]) -> float | None:
    told = [saved for info in infos if isinstance(saved := info.get("cacheSavings"), int | float)]
    return sum(told) if told or not any(info.get("cacheReads") for info in infos) else None


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
