"""The state of one task of a session, as its records left it."""

from collections.abc import Sequence
from typing import Final, TypeVar, assert_never

import msgspec

from robota.log.chain.reader import LineSpan
from robota.log.kinds import agents  # noqa: F401 - the newest record of a task is part of its state
from robota.log.kinds.calls import AnswerRecord, FileStampsRecord, ToolEndRecord, ToolStartRecord
from robota.log.kinds.conversation import (
    MessageRecord,
    MessageTextRecord,
    RestoreRecord,
    TurnRecord,
)
from robota.log.kinds.session import TitleRecord, TodosRecord
from robota.log.record import Payload, Record, TaskPayload, kind_of
from robota.log.replay.branches import RecordSpan
from robota.log.replay.context import ContextFold, ContextPayload, EarlierRecordsNeeded, ModelContext
from robota.log.replay.request_account import TaskTotals, context_size_of, counted, with_side_request
from robota.log.replay.rows.past_calls import CallEnds, EndedCall, with_cut_off
from robota.log.replay.rows.row_pages import RowPages, closed_rows, joined_lines, with_rows
from robota.protocol.asks.kinds import IDLE_ASKS, INTERACTIVE_ASKS, RESUME_ASKS
from robota.protocol.conversation import AssistantTurn, ToolUseBlock
from robota.protocol.message import BACKGROUND_OUTPUT, Message, TodoItem
from robota.protocol.state import is_request_row

# Of the rows in memory and in snapshots.
MAX_CHARACTERS: Final = 2_000_000
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


P = TypeVar("P", bound=Payload)


class NewestRecords(msgspec.Struct):
    """The newest payloads of the kinds of which only the newest applies, as JSON, so that any package can add kinds."""

    payloads: dict[str, msgspec.Raw] = {}

    def put(self, record: Record) -> None:
        """Add a record that was found readable."""
        self.payloads[record.kind] = record.payload.copy()

    def get(self, payload_type: type[P]) -> P | None:
        """The newest payload of this type."""
        payload = self.payloads.get(kind_of(payload_type))
        return None if payload is None else payload_type.from_json(payload)


class TaskFold(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One task of a session after the records so far. Snapshots contain it as it is.

    `rows` are the newest rows by their `ts`, each in its newest version, and `spans` the lines of the log about them;
    `older` describes earlier rows, which are only in the log. `call_ends` are the ended calls among the rows. `context`
    is what the model gets, and reductions in `undone` do not apply any more. `mode` is empty if the start record of the
    task was lost, and `outcome` is None until the task ends. `answers` are the user's, by the `ts` of the ask.
    `started_calls` are those of the last reply that were started. `files` are the newest stamps of files that the model
    knows.
    """

    task_id: str
    mode: str = ""
    parent_task_id: str | None = None
    outcome: str | None = None
    newest: NewestRecords = msgspec.field(default_factory=NewestRecords)
    rows: dict[int, Message] = {}
    spans: dict[int, LineSpan] = {}
    older: RowPages = RowPages()
    call_ends: CallEnds = msgspec.field(default_factory=CallEnds)
    context: ContextFold = msgspec.field(default_factory=ContextFold)
    undone: frozenset[str] = frozenset()
    answers: dict[int, AnswerRecord] = {}
    started_calls: set[str] = set()
    files: dict[str, tuple[int, ...]] = {}

    def take(self, record: Record, payload: TaskPayload, span: LineSpan) -> None:
        """Add the next record of the task. Raises `EarlierRecordsNeeded`."""
        # The most frequent kinds come first, for speed on long logs.
        match payload:
            case MessageRecord() | MessageTextRecord():
                self._take_row(payload, span)
            case ToolStartRecord() | ToolEndRecord() | FileStampsRecord():
                self._take_call(payload, span)
            case TitleRecord():
                account = with_side_request(self.older.account, payload.cost)
                self.older = msgspec.structs.replace(self.older, account=account)
            case AnswerRecord():
                self.answers[payload.ts] = payload
            case _ if isinstance(payload, ContextPayload):
                self._take_context(payload)
            case _ if payload.newest_applies:
                self.newest.put(record)
            case _:
                pass

    def _take_row(self, payload: MessageRecord | MessageTextRecord, span: LineSpan) -> None:
        if isinstance(payload, MessageRecord):
            self._locate(payload.message.ts, span)
            self.rows[payload.message.ts] = payload.message
            self.call_ends.row(payload.message)
            return
        self._locate(payload.ts, span)
        row = self.rows.get(payload.ts)
        if row is not None:
            self.rows[payload.ts] = msgspec.structs.replace(row, text=(row.text or "") + payload.added)

    def _take_call(self, payload: ToolStartRecord | ToolEndRecord | FileStampsRecord, span: LineSpan) -> None:
        match payload:
            case ToolStartRecord():
                self.started_calls.add(payload.call_id)
            case ToolEndRecord():
                for ts in self.call_ends.end(payload):
                    self._locate(ts, span)
            case FileStampsRecord():
                self.files.update(payload.files)
            case _:
                assert_never(payload)

    def _take_context(self, payload: ContextPayload) -> None:
        self.context.take(payload)
        if isinstance(payload, RestoreRecord):
            self.undone |= {payload.id}
        elif isinstance(payload, TurnRecord) and isinstance(payload.turn, AssistantTurn):
            self.started_calls.clear()

    def _locate(self, ts: int, span: LineSpan) -> None:
        if ts <= self.older.last_ts:
            raise EarlierRecordsNeeded
        first = self.spans.get(ts)
        self.spans[ts] = span if first is None else LineSpan(first.start, span.end)

    def bound_rows(self, branch: tuple[RecordSpan, ...], max_rows: int) -> None:
        """Keep only the newest rows in memory, and the positions of the others in the log."""
        stamps = sorted(self.rows)
        old = stamps[: _first_kept([self.rows[ts] for ts in stamps], max_rows)]
        if old:
            rows = [(self.rows.pop(ts), self.spans.pop(ts)) for ts in old]
            self.older = with_rows(self.older, rows, branch)
            self.call_ends.drop_until(old[-1])
            self.answers = {ts: answer for ts, answer in self.answers.items() if ts > self.older.last_ts}
        elif self.older.branch != branch:
            self.older = msgspec.structs.replace(self.older, branch=branch)

    def closed(self) -> "TaskFold":
        """The task if no process runs it: its rows in order and none of them streaming, and no call open."""
        rows = closed_rows(self.rows[ts] for ts in sorted(self.rows))
        ended = with_cut_off(self.task_id, rows, self.call_ends.ended)
        call_ends = msgspec.structs.replace(self.call_ends, ended=list(ended))
        return msgspec.structs.replace(self, rows={row.ts: row for row in rows}, call_ends=call_ends)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The newest rows, in order if the task is closed."""
        return tuple(self.rows.values())

    @property
    def lines(self) -> LineSpan:
        """The lines of the log that contain the newest rows."""
        return joined_lines(self.spans.values())

    @property
    def calls(self) -> Sequence[EndedCall]:
        """The ended calls among the newest rows."""
        return self.call_ends.ended

    @property
    def todos(self) -> tuple[TodoItem, ...]:
        """The todo list."""
        record = self.newest.get(TodosRecord)
        return () if record is None else record.todos

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
        return next((row for row in reversed(self.rows.values()) if not is_between_turns(row)), None)

    @property
    def open_calls(self) -> tuple[ToolUseBlock, ...]:
        """The calls of the last reply without a result."""
        return self.context.open_calls

    def conversation(self) -> ModelContext:
        """The conversation that the model gets."""
        conversation = ModelContext(self.context)
        conversation.close()
        return conversation

    def open_conversation(self) -> ModelContext:
        """The conversation of a task that continues: calls without a result may still get one."""
        return ModelContext(self.context)

    @property
    def totals(self) -> TaskTotals:
        """The totals of all requests; summaries count if their cost is known."""
        return counted(self.rows.values(), self.older.account).totals

    @property
    def context_tokens(self) -> int:
        """The last known size of the context, from a request or a later reduction."""
        sizes = (*self.older.sizes, *filter(None, map(context_size_of, self.rows.values())))
        return next((size.tokens for size in reversed(sizes) if size.reduction_id not in self.undone), 0)


def is_between_turns(row: Message) -> bool:
    """Whether the row may be written while the task does not run, such as an offer to resume."""
    return row.ask in RESUME_ASKS or row.say in BETWEEN_TURNS_ROWS


def _first_kept(rows: Sequence[Message], max_rows: int) -> int:
    """The index of the oldest row to keep; the newest reply and the last ask are always kept."""
    start, room = len(rows), MAX_CHARACTERS
    while start and len(rows) - start < max_rows and room > 0:
        start -= 1
        room -= len(rows[start].text or "")
    newest_first = range(len(rows) - 1, -1, -1)
    newest_request = next((index for index in newest_first if is_request_row(rows[index])), start)
    last_step = next((index for index in newest_first if not is_between_turns(rows[index])), 0)
    return min(start, newest_request, last_step)
