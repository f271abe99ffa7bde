"""Rebuilds one task of a session from its records."""

from typing import Final, assert_never

import msgspec

from robota.log.chain.reader import LineSpan
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
from robota.log.kinds.session import TitleRecord, TodosRecord
from robota.log.replay.context import (
    ContextBase,
    ModelContext,
    Reduced,
    model_context_of,
    open_context_of,
    reduction_id,
    unanswered,
    with_results,
)
from robota.log.replay.request_account import TaskTotals, context_size_of, counted, with_side_request
from robota.log.replay.rows.closed_rows import closed_rows
from robota.log.replay.rows.past_calls import CallEnds, EndedCall, with_cut_off
from robota.log.replay.rows.row_pages import RowPages, joined_lines
from robota.protocol.asks.kinds import IDLE_ASKS, INTERACTIVE_ASKS, RESUME_ASKS
from robota.protocol.conversation import AssistantTurn, ToolResultBlock, ToolUseBlock, Turn
from robota.protocol.message import BACKGROUND_OUTPUT, Message, TodoItem

# Rows about a shortened context (`/compact`), and about background processes at the end of the session. Written between
# turns, they do not change what the task is waiting for.
BETWEEN_TURNS_ROWS: Final = frozenset(
    {
        "condense_context",
        "condense_context_error",
        "sliding_window_truncation",
        "tool_outputs_cut",
        BACKGROUND_OUTPUT,
    }
)

# Payloads that change the state of one task.
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
    | TitleRecord
    | AnswerRecord
    | ToolStartRecord
    | ToolEndRecord
    | ResultRecord
    | FileStampsRecord
)


class ReplayedTask(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a session, rebuilt from its records.

    `messages` are ordered by `ts`, each in its newest version; `calls` are the ended calls among them. `outcome` is
    None until the task ends. `answers` are the user's, by the `ts` of the ask; `interrupted_calls` were started but
    never ended.

    `mode` is empty if the start record of the task was lost. `turns` are all recorded turns, `conversation` returns
    what the model sees of them, and reductions in `undone` do not apply any more. `results` are those of the last reply
    that are not in a turn yet, and `started_calls` the calls of that reply that were started. `files` are the newest
    stamps of files that the model knows.

    `messages` are only the newest rows, which are in the `lines` of the log; `older` describes the others. If the log
    was read from a snapshot, `turns` are those after `base`.
    """

    task_id: str
    mode: str = ""
    parent_task_id: str | None = None
    messages: tuple[Message, ...] = ()
    lines: LineSpan = LineSpan(0, 0)
    calls: tuple[EndedCall, ...] = ()
    older: RowPages = RowPages()
    base: ContextBase | None = None
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
        """The last row, if it is an ask that was not answered before the task stopped."""
        last = self.messages[-1] if self.messages else None
        if last is None or last.ask is None or last.interrupted or last.is_answered or last.ts in self.answers:
            return None
        return last

    @property
    def waiting_ask(self) -> Message | None:
        """The last question, if it has not been answered."""
        row = self._last_step
        if row is None or row.ask not in INTERACTIVE_ASKS | IDLE_ASKS or row.is_answered or row.ts in self.answers:
            return None
        return row

    @property
    def is_complete(self) -> bool:
        """Whether the task has delivered its result and has received no prompt since."""
        return self._last_step is not None and self._last_step.ask == "completion_result"

    @property
    def _last_step(self) -> Message | None:
        """The last row, ignoring those that may follow while the task is not running.

        An offer to resume is made again each time, and accepting one leaves the earlier question to be asked again.
        """
        return next((row for row in reversed(self.messages) if not is_between_turns(row)), None)

    @property
    def open_calls(self) -> tuple[ToolUseBlock, ...]:
        """The calls of the last reply without a result."""
        known = {result.tool_use_id for result in self.results}
        last = self.turns[-1] if self.turns else self.base.last if self.base is not None else None
        return tuple(call for call in unanswered(last) if call.id not in known)

    def conversation(self) -> ModelContext:
        """The conversation that the model gets."""
        conversation = model_context_of(self.turns, self.reductions, self.results, self.base)
        conversation.pins = set(self.pins)
        return conversation

    def open_conversation(self) -> ModelContext:
        """The conversation of a task that continues: calls without a result may still get one."""
        conversation = open_context_of(self.turns, self.reductions, self.base)
        conversation.pins = set(self.pins)
        return conversation

    @property
    def totals(self) -> TaskTotals:
        """The totals of all requests; summaries count if their cost is known."""
        return counted(self.messages, self.older.account).totals

    @property
    def context_tokens(self) -> int:
        """The last known size of the context, from a request or a later reduction."""
        sizes = (*self.older.sizes, *filter(None, map(context_size_of, self.messages)))
        return next((size.tokens for size in reversed(sizes) if size.reduction_id not in self.undone), 0)


def is_between_turns(row: Message) -> bool:
    """Whether the row may be written while the task does not run, such as an offer to resume."""
    return row.ask in RESUME_ASKS or row.say in BETWEEN_TURNS_ROWS


class BaseOutgrown(Exception):
    """A record changes something that the snapshot omits, so the log must be read from its beginning."""


class TaskFold:
    """A task while its records are read. `spans` are the lines of the log for each row."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        self.mode = ""
        self.parent_task_id: str | None = None
        self.older = RowPages()
        self.messages: dict[int, Message] = {}
        self.spans: dict[int, LineSpan] = {}
        self.calls = CallEnds()
        self.base: ContextBase | None = None
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

    def take(self, payload: TaskPayload, span: LineSpan) -> None:
        match payload:
            case MessageRecord():
                self._locate(payload.message.ts, span)
                self.messages[payload.message.ts] = payload.message
                self.calls.row(payload.message)
            case MessageTextRecord():
                self._grow(payload, span)
            case TurnRecord():
                self._add(payload.turn)
            case CondenseRecord() | TruncateRecord() | CutRecord() | RestoreRecord() | PinRecord():
                self._take_reduction(payload)
            case TodosRecord():
                self.todos = payload.todos
            case TitleRecord():
                account = with_side_request(self.older.account, payload.cost)
                self.older = msgspec.structs.replace(self.older, account=account)
            case AnswerRecord():
                self.answers[payload.ts] = payload
            case ToolStartRecord() | ToolEndRecord() | ResultRecord() | FileStampsRecord():
                self._take_call(payload, span)
            case _:
                assert_never(payload)

    def _take_reduction(self, payload: Reduction | RestoreRecord | PinRecord) -> None:
        match payload:
            case RestoreRecord():
                if self.base is not None and payload.id in self.base.reduction_ids:
                    raise BaseOutgrown
                self.undone |= {payload.id}
                self.reductions = [each for each in self.reductions if reduction_id(each.reduction) != payload.id]
            case PinRecord():
                self.pins = self.pins | {payload.turn} if payload.is_pinned else self.pins - {payload.turn}
            case CondenseRecord() | TruncateRecord() | CutRecord():
                self.reductions.append(Reduced(after=self.recorded, reduction=payload))
            case _:
                assert_never(payload)

    def _take_call(
        self, payload: ToolStartRecord | ToolEndRecord | ResultRecord | FileStampsRecord, span: LineSpan
    ) -> None:
        match payload:
            case ToolStartRecord():
                self.running[payload.call_id] = payload
                self.started.add(payload.call_id)
            case ToolEndRecord():
                self.running.pop(payload.call_id, None)
                for ts in self.calls.end(payload):
                    self._locate(ts, span)
            case ResultRecord():
                self.results.append(payload.result)
            case FileStampsRecord():
                self.files.update(payload.files)
            case _:
                assert_never(payload)

    def _add(self, turn: Turn) -> None:
        """Add a turn; a user turn gets the results that were logged before it."""
        if isinstance(turn, AssistantTurn):
            self.started.clear()
        elif self.results:
            turn = with_results(turn, self.results, self.last_turn)
        self.results.clear()
        self.turns.append(turn)

    def _grow(self, payload: MessageTextRecord, span: LineSpan) -> None:
        self._locate(payload.ts, span)
        row = self.messages.get(payload.ts)
        if row is not None:
            self.messages[payload.ts] = msgspec.structs.replace(row, text=(row.text or "") + payload.added)

    def _locate(self, ts: int, span: LineSpan) -> None:
        if ts <= self.older.last_ts:
            raise BaseOutgrown
        first = self.spans.get(ts)
        self.spans[ts] = span if first is None else LineSpan(first.start, span.end)

    @property
    def recorded(self) -> int:
        """The number of turns ever recorded."""
        return len(self.turns) + (self.base.recorded if self.base is not None else 0)

    @property
    def last_turn(self) -> Turn | None:
        if self.turns:
            return self.turns[-1]
        return self.base.last if self.base is not None else None

    def history(self) -> ReplayedTask:
        rows = closed_rows([self.messages[ts] for ts in sorted(self.messages)])
        return ReplayedTask(
            task_id=self.task_id,
            mode=self.mode,
            parent_task_id=self.parent_task_id,
            messages=rows,
            lines=joined_lines(self.spans.values()),
            calls=with_cut_off(self.task_id, rows, self.calls.ended),
            older=self.older,
            base=self.base,
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
