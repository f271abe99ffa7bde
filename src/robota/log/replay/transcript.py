"""Turns the records of a log into a readable transcript, entry by entry and in bounded memory."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from robota.log.kinds.calls import AnswerRecord, ResultRecord, ToolEndRecord, ToolStartRecord
from robota.log.kinds.conversation import (
    CondenseRecord,
    MessageRecord,
    MessageTextRecord,
    TruncateRecord,
    TurnRecord,
)
from robota.log.kinds.session import OriginRecord, RepairRecord, TaskRecord
from robota.log.record import Payload, Record, payload_of
from robota.protocol.asks.ask import ElicitationAsk, QuestionAsk
from robota.protocol.asks.seed import ask_of
from robota.protocol.calls import SPEAKING, CallPurpose
from robota.protocol.conversation import AssistantTurn, ToolResultBlock, UserBlock, UserTurn
from robota.protocol.message import BACKGROUND_OUTPUT, Message
from robota.protocol.seed_calls import diff_in, title_in
from robota.protocol.transcript import Called, Noted, Prompted, Reasoned, Replied, Transcript
from robota.protocol.unified_diff import unified
from robota.protocol.views import DiffView

REPLIES: Final = frozenset({"text", "completion_result"})
ERRORS: Final = frozenset({"error", "condense_context_error"})
CALL_ROWS: Final = frozenset({"tool", "command", "use_mcp_server"})
INTERRUPTED: Final = "interrupted"
ANSWERS: Final = {"yesButtonClicked": "yes", "noButtonClicked": "no", "messageResponse": "no"}


def transcript(records: Iterable[Record], *, is_continued: bool = False) -> Iterator[Transcript]:
    """The entries in order. Calls come with their results; interrupted ones come last.

    `is_continued`: there were records before these.
    """
    fold = TranscriptFold(is_continued=is_continued)
    for record in records:
        yield from fold.take(record)
    yield from fold.rest()


class _OpenCall(msgspec.Struct, kw_only=True):
    """A call without a result yet."""

    ts: int
    task_id: str
    tool: str
    input: dict[str, Any]
    status: str = INTERRUPTED
    title: str = ""
    diff: str | None = None
    duration_ms: int = 0
    answer: str | None = None
    purpose: CallPurpose = CallPurpose.WORK

    def end(self, record: ToolEndRecord) -> None:
        self.status, self.duration_ms, self.purpose = record.status, record.duration_ms, record.purpose
        self.title = record.title or self.title
        if isinstance(record.view, DiffView) and record.view.hunks:  # differs from the row, because the user changed it
            self.diff = "".join(map(unified, record.view.hunks))


class TranscriptFold:
    """Turns records into entries as they arrive, and holds the unfinished ones."""

    def __init__(self, *, is_continued: bool = False) -> None:
        self._depths: dict[str, int] = {}
        self._is_continued = is_continued
        self._announced: set[str] = set()
        self._begun: set[str] = set()
        self._done: set[int] = set()
        self._streaming: dict[int, MessageRecord] = {}
        self._calls: dict[str, _OpenCall] = {}
        self._asked: dict[int, str] = {}

    def take(self, record: Record) -> Iterator[Transcript]:
        """The entries that this record completes; none if it is unreadable."""
        payload = payload_of(record)
        if payload is not None:
            yield from self._take(record.ts, payload)

    def _take(self, ts: int, payload: Payload) -> Iterator[Transcript]:
        match payload:
            case TaskRecord():
                parent = payload.parent_task_id
                self._announced.add(payload.task_id)
                self._depths.setdefault(payload.task_id, 0 if parent is None else self._depths.get(parent, 0) + 1)
            case MessageRecord():
                yield from self._row(payload)
            case MessageTextRecord():
                self._grow(payload)
            case TurnRecord(turn=AssistantTurn() as reply):
                self._reply_calls(ts, payload.task_id, reply)
            case TurnRecord(turn=UserTurn() as user_turn):
                yield from self._results(user_turn.content)
            case ResultRecord():
                yield from self._results((payload.result,))
            case _:
                yield from self._take_rarer(ts, payload)

    def _take_rarer(self, ts: int, payload: Payload) -> Iterator[Transcript]:
        match payload:
            case ToolStartRecord():
                if (call := self._calls.get(payload.call_id)) is not None:
                    call.input = payload.input
            case ToolEndRecord():
                if (call := self._calls.get(payload.call_id)) is not None:
                    call.end(payload)
            case AnswerRecord():
                yield from self._answer(ts, payload)
            case CondenseRecord():
                yield Noted(ts=ts, text="The conversation was condensed for the model.")
            case TruncateRecord():
                yield Noted(ts=ts, text="Older parts of the conversation were no longer shown to the model.")
            case RepairRecord():
                yield Noted(ts=ts, text="The end of the log was damaged; its bytes were saved separately.")
            case OriginRecord():
                yield Noted(ts=ts, text=_origin(payload))
            case _:
                pass

    def rest(self) -> Iterator[Transcript]:
        """The unfinished entries at the end of the log."""
        for record in self._streaming.values():
            yield from self._message_entries(record, interrupted=True)
        for call_id, call in self._calls.items():
            yield self._called(call_id, call, "", INTERRUPTED)

    def _row(self, record: MessageRecord) -> Iterator[Transcript]:
        row = record.message
        if row.ts in self._done:
            return
        if row.partial:
            self._streaming[row.ts] = record
            return
        self._streaming.pop(row.ts, None)
        self._done.add(row.ts)
        yield from self._message_entries(record, interrupted=bool(row.interrupted))

    def _grow(self, added: MessageTextRecord) -> None:
        record = self._streaming.get(added.ts)
        if record is not None:
            text = (record.message.text or "") + added.added
            self._streaming[added.ts] = msgspec.structs.replace(
                record, message=msgspec.structs.replace(record.message, text=text)
            )

    def _message_entries(self, record: MessageRecord, *, interrupted: bool) -> Iterator[Transcript]:
        row, depth = record.message, self._depths.get(record.task_id, 0)
        text = row.text or ""
        is_begun = record.task_id in self._begun
        # A task without a start record here started before these records.
        is_begun |= self._is_continued and record.task_id not in self._announced
        is_first = not is_begun and row.say == "text"
        self._begun.add(record.task_id)
        if is_first or row.say == "user_feedback":
            yield Prompted(ts=row.ts, depth=depth, text=text, images=len(row.images or ()))
        elif row.say in REPLIES and text:
            yield Replied(ts=row.ts, depth=depth, text=text, interrupted=interrupted)
        elif row.say == "reasoning" and text:
            yield Reasoned(ts=row.ts, depth=depth, text=text)
        elif row.say in ERRORS and row.call_id is None:
            yield Noted(ts=row.ts, depth=depth, text=f"Error: {text}")
        elif row.say == BACKGROUND_OUTPUT:
            yield Noted(ts=row.ts, depth=depth, text=text)
        elif isinstance(asked := ask_of(row), QuestionAsk):
            if isinstance(asked, ElicitationAsk):  # the answers to other asks also have a row
                self._asked[row.ts] = ""
            yield Noted(ts=row.ts, depth=depth, text=_question(asked))
        elif (row.ask or row.say) in CALL_ROWS and row.call_id is not None:
            self._look_at_call_row(row)

    def _look_at_call_row(self, row: Message) -> None:
        call = self._calls.get(row.call_id or "")
        if call is None:
            return
        call.title, call.diff = title_in(row), diff_in(row) or call.diff
        if row.ask is not None:
            self._asked[row.ts] = row.call_id or ""

    def _answer(self, ts: int, answer: AnswerRecord) -> Iterator[Transcript]:
        call = self._calls.get(self._asked.get(answer.ts, ""))
        if call is not None:
            word = ANSWERS.get(answer.response, answer.response)
            call.answer = word + (f": {answer.text}" if answer.text else "")
        elif answer.ts in self._asked and answer.text:
            yield Noted(ts=ts, text=f"Answer: {answer.text}")

    def _reply_calls(self, ts: int, task_id: str, turn: AssistantTurn) -> None:
        for use in turn.tool_uses:
            self._calls[use.id] = _OpenCall(ts=ts, task_id=task_id, tool=use.name, input=use.input)

    def _results(self, blocks: Iterable[UserBlock]) -> Iterator[Transcript]:
        for block in blocks:
            if not isinstance(block, ToolResultBlock):
                continue
            call = self._calls.pop(block.tool_use_id, None)
            if call is not None:
                status = call.status if call.status != INTERRUPTED else "error" if block.is_error else "success"
                if call.purpose in SPEAKING and status == "success":
                    continue
                yield self._called(block.tool_use_id, call, block.content, status)

    def _called(self, call_id: str, call: _OpenCall, output: str, status: str) -> Called:
        return Called(
            ts=call.ts,
            depth=self._depths.get(call.task_id, 0),
            call_id=call_id,
            title=call.title or _plain_title(call),
            tool=call.tool,
            input=call.input,
            status=status,
            output=output,
            diff=call.diff,
            duration_ms=call.duration_ms,
            answer=call.answer,
        )


def _plain_title(call: _OpenCall) -> str:
    """The title of a call without a row: its tool and first meaningful argument."""
    value = next((each for each in call.input.values() if isinstance(each, str) and each), "")
    return f"{call.tool} {value}".rstrip()


def _origin(origin: OriginRecord) -> str:
    if origin.source == "fork":
        return f"Forked from session {origin.session_id}. Approvals there do not apply here."
    if origin.source == "elsewhere":
        return "Resumed here. What comes before was not written on this machine, or was changed."
    return f"Imported ({origin.source}); there it was session {origin.session_id}."


def _question(asked: QuestionAsk) -> str:
    offered = "".join(f"\n{number} {each.answer}" for number, each in enumerate(asked.suggestions, start=1))
    return f"Question: {asked.question}{offered}"
