"""Reads a recording from the records of a log."""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from robota.log.errors import ArtifactMissing
from robota.log.kinds.calls import (
    AnswerRecord,
    CheckpointRecord,
    FileStampsRecord,
    ResultRecord,
    ToolEndRecord,
    ToolStartRecord,
)
from robota.log.kinds.conversation import (
    CondenseRecord,
    CutRecord,
    MessageRecord,
    PinRecord,
    TruncateRecord,
    TurnRecord,
)
from robota.log.kinds.requests import ContentRecord, RequestRecord
from robota.log.kinds.session import QueueRecord, SessionHeader, TaskRecord
from robota.log.record import Payload, Record, payload_of
from robota.log.replay.branches import jump_of
from robota.proof.replay.comparison import RAN_THEMSELVES, SURROUNDINGS, user_text
from robota.proof.replay.interruptions import Break, breaks_in
from robota.proof.replay.recording import (
    Leg,
    NotRepeated,
    NotReplayable,
    RecordedAnswer,
    RecordedFault,
    RecordedHead,
    RecordedPrompt,
    RecordedReply,
    Recording,
    RunCall,
)
from robota.protocol.asks.ask import LimitAsk, LimitKind
from robota.protocol.asks.kinds import INTERACTIVE_ASKS, RESUME_ASKS
from robota.protocol.commands import CondenseContext, QueueMessage
from robota.protocol.conversation import AssistantTurn, ImageBlock, TextBlock, ToolResultBlock, UserTurn
from robota.protocol.message import Message
from robota.protocol.state import is_request_row
from robota.providers.chunks import ToolSpec
from robota.tools.task.present_plan import TOOL as PLANNER

INTERRUPTED: Final = "[interrupted by the user]"
COMPLETION: Final = "completion_result"
FAILED: Final = "api_req_failed"
TOO_LONG: Final = "context_too_long"
MISTAKES: Final = "mistake_limit_reached"
EDITED: Final = "objectResponse"
YES: Final = "yesButtonClicked"
SPOKEN: Final = frozenset({"text", "user_feedback"})
RESUME_COMPLETED: Final = "resume_completed_task"
RESUMPTION: Final = "[TASK RESUMPTION]"
INTENT_AGAIN: Final = re.compile(r"# Active intent\n\n<intent_context>\n.*?\n</intent_context>\n[^\n]*", re.DOTALL)
STOPPED_BY_HOOK: Final = "A hook stopped the task: "
# With this error the model was not asked for a summary.
TOO_LITTLE: Final = " stays as it is: there is not enough of it yet."
RAN_AS_TASK: Final = "This ran as a task of its own."
ONLY_REMINDER: Final = re.compile(r"<system-reminder>\n(.*)\n</system-reminder>", re.DOTALL)


def recording_of(records: Iterable[Record], artifact: Callable[[str], bytes]) -> Recording:
    """Read a recording. `artifact` reads a large text that is stored beside the log. Raises `NotReplayable`."""
    own_records = _own_part(list(records))
    payloads = [payload_of(record) for record in own_records]
    header = next((payload for payload in payloads if isinstance(payload, SessionHeader)), None)
    if header is None:
        raise NotReplayable("The log does not say which session it belongs to, so there is nothing to run again")
    fold = _RecordingFold(Recording(header=header, records=own_records), artifact)
    breaks = {each.first: each for each in breaks_in(payloads, [jump_of(record) for record in own_records])}
    for number, (record, payload) in enumerate(zip(own_records, payloads, strict=True)):
        if number in breaks:
            fold.begin_leg(breaks[number])
        if payload is not None:
            fold.take(record, payload)
    return fold.recording()


def _own_part(records: list[Record]) -> list[Record]:
    """The records up to a header with another id: an import may append records of other sessions."""
    first: str | None = None
    for number, record in enumerate(records):
        payload = payload_of(record) if record.kind == "session" else None
        if isinstance(payload, SessionHeader):
            first = first or payload.id
            if payload.id != first:
                return records[:number]
    return records


class _RecordingFold:
    def __init__(self, recording: Recording, artifact: Callable[[str], bytes]) -> None:
        self._recording = recording
        self._artifact = artifact
        self._contents: dict[str, str | None] = {}
        self._modes: dict[str, str] = {}
        self._subtasks: set[str] = set()
        self._asks: dict[int, Message] = {}
        self._unanswered: set[int] = set()
        self._calls_by_id: dict[str, RunCall] = {}
        self._changing: RunCall | None = None
        self._request: dict[str, Message] = {}
        self._started: set[str] = set()
        self._summaries: set[int] = set()
        self._queued: dict[str, QueueMessage] = {}
        self._finished: set[str] = set()  # tasks whose newest reply was meant to be the last
        self._subtask_prompts: dict[str, str] = {}
        self._is_requested = False
        self._is_streaming = False
        self._is_command = False
        self._is_at_rest = False
        self._text_answer: int | None = None  # the answer whose text comes with the next user turn
        self._leg = Leg(first=0)
        self._leg_calls: dict[str, deque[RunCall]] = defaultdict(deque)
        self._add_leg()

    def _add_leg(self) -> None:
        self._leg_calls = defaultdict(deque)
        self._leg.calls = self._leg_calls
        self._recording.legs.append(self._leg)

    def begin_leg(self, interruption: Break) -> None:
        """Start a leg. Open asks of the last leg may be answered in it, and calls without a result may run."""
        self._leg.is_cut = True
        self._leg = Leg(
            first=interruption.first,
            by_another_process=interruption.by_another_process,
            replies_before=self._recording.replies,
        )
        self._add_leg()
        self._is_streaming, self._text_answer, self._queued = False, None, {}
        asked = (row for row in self._asks.values() if row.ask in INTERACTIVE_ASKS and not row.is_answered)
        self._unanswered = {row.ts for row in asked if row.call_id in self._calls_by_id}
        for call in [call for call in self._calls_by_id.values() if call.result is None]:
            self._remember(RunCall(call_id=call.call_id, tool=call.tool))

    def take(self, record: Record, payload: Payload) -> None:
        """Take in the next record."""
        self._leg.records.append(record)
        match payload:
            case TaskRecord():
                self._task(payload)
            case ContentRecord():
                self._contents[payload.hash] = payload.text
            case RequestRecord():
                self._note_request(payload)
            case MessageRecord():
                self._row(payload.task_id, payload.message)
            case TurnRecord(turn=UserTurn() as turn):
                self._user_turn(record.ts, payload.task_id, turn)
            case TurnRecord(turn=AssistantTurn() as turn):
                self._reply(record.ts, payload.task_id, turn)
            case QueueRecord():
                self._queue(payload)
            case CondenseRecord() | TruncateRecord() | CutRecord():
                self._context_reduced(payload)
            case CheckpointRecord():
                self._checkpoint(payload.checkpoint, payload.call_id)
            case _:
                self._call(payload)

    def recording(self) -> Recording:
        recording = self._recording
        if not recording.replies or not any(leg.prompts for leg in recording.legs):
            raise NotReplayable("The log holds no prompt with an answer, so there is nothing to run again")
        is_open = any(call.result is None for calls in self._leg_calls.values() for call in calls)
        self._leg.is_cut = is_open or self._is_streaming
        return recording

    def _not_repeated(self, why: str) -> None:
        self._recording.not_repeated.append(NotRepeated(request=self._recording.replies, why=why))

    def _task(self, record: TaskRecord) -> None:
        is_new = record.task_id not in self._modes
        self._modes[record.task_id] = record.mode
        if record.parent_task_id is None:
            return
        self._subtasks.add(record.task_id)
        for call in self._calls_by_id.values() if is_new else ():
            call.delegated = call.delegated or (call.input is not None and not call.status)

    def _note_request(self, record: RequestRecord) -> None:
        recording = self._recording
        head = RecordedHead(
            mode=self._modes.get(record.task_id, ""),
            system=self._content(record.system),
            specs=tuple(msgspec.json.decode(self._content(record.tools) or "[]", type=list[ToolSpec])),
            request=recording.replies,
        )
        recording.heads.append(head)
        # Plans are offered only where a user attends.
        recording.is_attended = recording.is_attended or any(spec.name == PLANNER.name for spec in head.specs)
        recording.context_window = recording.context_window or record.context_window
        recording.input_room = recording.input_room or record.input_room
        recording.condense_at = recording.condense_at or record.condense_at

    def _content(self, name: str) -> str:
        text = self._contents.get(name)
        if text is not None:
            return text
        try:
            return self._artifact(name).decode("utf-8", "replace")
        except ArtifactMissing:
            return ""

    def _row(self, task_id: str, row: Message) -> None:
        if row.ask is not None:
            self._ask(task_id, row)
            if row.ask == FAILED:
                self._request.pop(task_id, None)
        elif is_request_row(row):
            self._request[task_id] = row
            self._is_requested = True
            self._is_streaming = "cost" not in _decoded(row.text)
        elif row.say == "condense_context" and row.context_condense and row.ts not in self._summaries:
            self._summaries.add(row.ts)
            self._too_long(task_id)
            summary = str(row.context_condense.get("summary") or "")
            turn = AssistantTurn(content=(TextBlock(text=summary),), stop_reason="end_turn")
            cost = _number(row.context_condense, "cost")
            self._leg.replies.append(RecordedReply(ts=row.ts, turn=turn, cost=cost, is_summary=True))
        elif row.say == "condense_context" and not row.partial and not row.context_condense:
            self._not_repeated("condensing was interrupted")
        elif row.say == "error" and (row.text or "").startswith(STOPPED_BY_HOOK):
            self._not_repeated("a hook stopped the task")
        elif row.say == "condense_context_error":
            self._not_condensed(task_id, row)
        elif row.say == COMPLETION:
            self._finished.add(task_id)
        elif row.say in SPOKEN:
            self._is_command = (row.text or "").startswith("!")

    def _ask(self, task_id: str, row: Message) -> None:
        """Learn from an ask whether a user was present, which limits held, and why a request failed."""
        recording, is_new = self._recording, row.ts not in self._asks
        self._asks[row.ts] = row
        if row.is_answered and row.ts in self._unanswered:
            self._unanswered.discard(row.ts)
            # The answer had no effect, such as a yes to an edit of a file that had changed meanwhile.
            self._answer(AnswerRecord(task_id=task_id, ts=row.ts, response=YES), row)
        self._is_at_rest = row.ask in (COMPLETION, FAILED)
        recording.is_attended = recording.is_attended or row.ask in INTERACTIVE_ASKS
        match row.asked:
            case LimitAsk(limit=LimitKind.REQUESTS, count=count):
                recording.max_requests = int(count)
            case LimitAsk(limit=LimitKind.COST, count=count):
                recording.max_cost = count
            case _:
                pass
        recording.counts_mistakes = recording.counts_mistakes or row.ask == MISTAKES
        if row.ask == FAILED and is_new and self._is_requested:
            self._is_requested = False
            fault = RecordedFault(message=row.text or "")
            if row.fault is not None:
                fault = RecordedFault(message=row.fault.message, is_too_long=row.fault.kind == TOO_LONG)
            self._leg.replies.append(RecordedReply(ts=row.ts, fault=fault))

    def _not_condensed(self, task_id: str, row: Message) -> None:
        """Record a summary that failed, was unusable or was blocked by a hook as a reply that fails."""
        text = row.text or ""
        if text.endswith(TOO_LITTLE):
            return
        self._too_long(task_id)
        if self._is_at_rest:
            self._leg.condensed_at.append(len(self._leg.replies))
        self._leg.replies.append(RecordedReply(ts=row.ts, fault=RecordedFault(message=text)))

    def _too_long(self, task_id: str) -> None:
        """Record the failed request that made the engine shorten the conversation, if one failed."""
        row = self._request.pop(task_id, None)
        failed = _decoded(row.text if row is not None else None).get("streamingFailedMessage")
        if row is not None and failed:
            fault = RecordedFault(message=str(failed), is_too_long=True)
            self._leg.replies.append(RecordedReply(ts=row.ts, fault=fault))

    def _context_reduced(self, record: CondenseRecord | TruncateRecord | CutRecord) -> None:
        """Note a reduction of the context; a manual one becomes a command, given at rest or before the next request.

        The summary is a reply of its own.
        """
        self._too_long(record.task_id)
        if not isinstance(record, CutRecord):
            replies = len(self._leg.replies) + isinstance(record, CondenseRecord)
            put = "\n".join(block.text for block in record.put.content if isinstance(block, TextBlock))
            self._leg.intent_reminders[replies] = reminder[0] if (reminder := INTENT_AGAIN.search(put)) else ""
        if isinstance(record, CondenseRecord) and record.trigger == "manual":
            replies = len(self._leg.replies)  # the summary is the next reply
            if self._is_at_rest:
                self._leg.condensed_at.append(replies)
            elif not replies:
                self._not_repeated("the conversation was condensed where the task had been interrupted")
            else:
                self._leg.orders.setdefault(max(replies - 1, 0), []).append(CondenseContext())

    def _reply(self, ts: int, task: str, turn: AssistantTurn) -> None:
        if any(isinstance(block, TextBlock) and block.text.endswith(INTERRUPTED) for block in turn.content):
            # The interrupted part of a reply belongs to the state that the next leg starts from.
            self._leg.records.pop()
            return
        row = self._request.get(task)
        info = _decoded(row.text if row is not None else None)
        self._leg.replies.append(RecordedReply(ts=row.ts if row else ts, turn=turn, cost=_number(info, "cost")))
        self._is_streaming = False
        self._request.pop(task, None)
        is_last = not turn.tool_uses and turn.stop_reason != "max_tokens"
        (self._finished.add if is_last else self._finished.discard)(task)
        for use in turn.tool_uses:
            self._remember(RunCall(call_id=use.id, tool=use.name))

    def _remember(self, call: RunCall) -> None:
        self._calls_by_id[call.call_id] = call
        self._leg_calls[call.call_id].append(call)

    def _user_turn(self, ts: int, task: str, turn: UserTurn) -> None:
        """Note prompts and text answers as the model got them: with expanded mentions and hook output."""
        self._is_at_rest = False
        for block in turn.content:
            if isinstance(block, ToolResultBlock):
                self._result(block)
            elif isinstance(block, TextBlock) and (around := SURROUNDINGS.search(f"\n{block.text}")):
                self._recording.has_environment = True
                self._leg.environment[len(self._leg.replies)] = around[0].strip("\n")
        if self._is_command and RAN_THEMSELVES.match(user_text(turn)):
            self._leg.records.pop()
            if self._leg.replies:
                self._not_repeated("the user ran a command themselves")
            if self._text_answer is not None:
                del self._leg.answers[self._text_answer]
            self._is_command, self._text_answer = False, None
            return
        self._note_blocked_stop(task, turn)
        text, images = self._typed(task, user_text(turn)), _data_urls(turn)
        if task in self._modes and task not in self._subtasks and task not in self._started:
            if not text and not images:
                return
            self._started.add(task)
            prompt = RecordedPrompt(text=text, mode=self._modes[task], ts=ts, images=images)
            self._leg.prompts.append(prompt)
        elif (text or images) and self._text_answer is not None:
            self._drop_queued(*(block.text for block in turn.content if isinstance(block, TextBlock)))
            answer = self._leg.answers[self._text_answer]
            self._leg.answers[self._text_answer] = msgspec.structs.replace(answer, text=text, images=images)
        self._text_answer = None

    def _note_blocked_stop(self, task: str, turn: UserTurn) -> None:
        """A turn after a final reply that has only a reminder comes from a stop hook that made the model continue."""
        if task in self._finished and (reminder := ONLY_REMINDER.fullmatch(user_text(turn))):
            self._finished.discard(task)
            if RESUMPTION not in reminder[1]:
                self._leg.blocked_stops[len(self._leg.replies)] = reminder[1]

    def _typed(self, task: str, text: str) -> str:
        """The typed part of a text. A prompt that ran as a subtask is followed by the result of that subtask."""
        if task in self._subtasks and task not in self._subtask_prompts:
            self._subtask_prompts[task] = text
            for call in self._calls_by_id.values():
                if call.delegated and not call.status and isinstance(name := (call.input or {}).get("skill"), str):
                    self._leg.forks[name] = text
        typed, marker, _ = text.partition(f"\n\n{RAN_AS_TASK}")
        if not marker or not self._subtask_prompts:
            return text
        self._leg.forks[typed] = self._subtask_prompts.popitem()[1]
        return typed

    def _queue(self, record: QueueRecord) -> None:
        """Queue a message again during the reply in which, or in whose calls, it was queued."""
        for entry in record.queue:
            if entry.id in self._queued and self._queued[entry.id].text != entry.text:
                self._not_repeated("a message was changed while it waited")
            if entry.id not in self._queued:
                order = QueueMessage(
                    text=entry.text, images=entry.images, after_turn=entry.after_turn, is_command=entry.is_command
                )
                self._queued[entry.id] = order
                if not self._leg.replies and not self._is_streaming:
                    continue  # it is part of the first prompt
                reply = len(self._leg.replies) - (0 if self._is_streaming else 1)
                self._leg.orders.setdefault(max(reply, 0), []).append(order)

    def _checkpoint(self, checkpoint: str, call_id: str | None) -> None:
        self._recording.start = self._recording.start or checkpoint
        if self._changing is not None:
            self._changing.after = checkpoint
        self._changing = self._calls_by_id.get(call_id or "")
        if self._changing is not None:
            self._changing.before = checkpoint

    def _call(self, payload: Payload) -> None:
        match payload:
            case ToolStartRecord() if payload.call_id in self._calls_by_id:
                if payload.call_id not in self._leg_calls:
                    self._not_repeated("a call was made again after a rewind to before its result")
                call = self._calls_by_id[payload.call_id]
                call.input, call.is_changed = payload.input, call.is_changed or payload.is_changed
            case ToolEndRecord() if payload.call_id in self._calls_by_id:
                self._calls_by_id[payload.call_id].status = payload.status
            case FileStampsRecord() if payload.call_id in self._calls_by_id:
                self._calls_by_id[payload.call_id].paths = tuple(payload.files)
            case ResultRecord():
                self._result(payload.result)
            case AnswerRecord() if payload.ts in self._asks:
                self._unanswered.discard(payload.ts)
                self._answer(payload, self._asks[payload.ts])
            case PinRecord():
                self._not_repeated("turns were pinned")
            case _:
                pass

    def _result(self, block: ToolResultBlock) -> None:
        if block.tool_use_id in self._calls_by_id:
            self._calls_by_id[block.tool_use_id].result = block

    def _answer(self, record: AnswerRecord, row: Message) -> None:
        # A prompt that resumes a finished session continues it as if the process had not ended.
        is_taken_up = row.ask == RESUME_COMPLETED and not self._is_offered_in_leg(row)
        is_over = is_taken_up or row.ask == COMPLETION
        if is_over and not record.text:
            return  # the next prompt or the next process continues
        self._recording.is_attended = self._recording.is_attended or row.ask == MISTAKES
        if record.response == EDITED and row.call_id in self._calls_by_id:
            self._edited(self._calls_by_id[row.call_id], _decoded(record.text).get("hunks"))
        answer = RecordedAnswer(
            kind=COMPLETION if is_taken_up else row.ask or "",
            call_id=row.call_id,
            response=record.response,
            text=record.text or "",
            prompt=len(self._leg.prompts),
            ts=row.ts,
        )
        if answer.kind in {COMPLETION, *RESUME_ASKS} and answer.text:
            self._text_answer = len(self._leg.answers)
        self._leg.answers.append(answer)
        self._drop_queued(record.text or "")

    def _edited(self, call: RunCall, hunks: object) -> None:
        """Note that the user changed the input, or approved only some hunks."""
        if isinstance(hunks, list):
            call.hunks = tuple(number for number in hunks if isinstance(number, int))
        else:
            call.is_changed = True

    def _is_offered_in_leg(self, row: Message) -> bool:
        """Whether the leg started with this offer to resume."""
        return self._leg.first > 0 and not self._leg.prompts and not self._leg.replies and row.ask in RESUME_ASKS

    def _drop_queued(self, *texts: str) -> None:
        """Drop queued messages that became the answer to an ask, because the replay gives them as that answer."""
        for text in filter(None, texts):
            for orders in self._leg.orders.values():
                same = (order for order in orders if isinstance(order, QueueMessage) and order.text == text)
                if (order := next(same, None)) is not None:
                    orders.remove(order)
                    break


def _data_urls(turn: UserTurn) -> tuple[str, ...]:
    sources = (block.source for block in turn.content if isinstance(block, ImageBlock))
    return tuple(f"data:{source.media_type};base64,{source.data}" for source in sources)


def _decoded(text: str | None) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _number(values: dict[str, Any], key: str) -> float | None:
    value = values.get(key)
    return float(value) if isinstance(value, int | float) else None
