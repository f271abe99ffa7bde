"""Collects the calls of a log record by record, so that only new records of a grown log are read."""

import re
from collections.abc import Iterator
from typing import Any, Final, TypeVar

import msgspec

from robota.log.kinds.calls import (
    AnswerRecord,
    CheckpointRecord,
    FileStampsRecord,
    ToolEndRecord,
    ToolStartRecord,
    VerdictRecord,
)
from robota.log.kinds.conversation import MessageRecord, TurnRecord
from robota.log.kinds.requests import RequestRecord
from robota.log.kinds.rewinds import RewindStartRecord
from robota.log.kinds.session import OriginRecord, SessionHeader, TaskRecord
from robota.log.record import Payload, Record, payload_of
from robota.log.replay.request_account import request_info
from robota.proof.calls.call_story import APPROVED, CHANGED, CallChanges, CallStory, ShownChange
from robota.protocol.conversation import AssistantTurn, TextBlock, ToolUseBlock
from robota.protocol.message import Message
from robota.protocol.state import is_request_row

MAX_TEXT_LENGTH: Final = 4_000
MAX_INPUT_LENGTH: Final = 4_000
SELECT_INTENT: Final = "select_active_intent"
# A forged log must not make the fold grow without limit.
MAX_OPEN_CALLS: Final = 500
MAX_TASKS: Final = 2_000

MAX_DIFF_LENGTH: Final = 4_000_000
SEVERAL_FILES: Final = re.compile(r"^\*\*\* [a-z]+: ", re.MULTILINE)

Told = CallStory | CallChanges
T = TypeVar("T")


class _TaskNow(msgspec.Struct, omit_defaults=True):
    parent: str = ""
    said: str = ""
    model: str = ""
    request_ts: int = 0
    cost: float | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    has_begun: bool = False


class StoryFold(msgspec.Struct, omit_defaults=True):
    """The state after the records so far. It is stored in an index, to continue from there."""

    session_id: str = ""
    cwd: str = ""
    permission_mode: str = ""
    has_origin: bool = False
    prompt: str = ""
    prompts: int = 0
    root: str = ""
    intent: str = ""
    tasks: dict[str, _TaskNow] = {}
    calls: dict[str, CallStory] = {}
    asks: dict[int, str] = {}
    shown: dict[str, ShownChange] = {}
    before: dict[str, str] = {}
    paths: dict[str, list[str]] = {}
    changed: CallStory | None = None

    def take(self, record: Record) -> Iterator[Told]:
        """Add a record. Returns what it completes: a call, or the files that one changed."""
        payload = payload_of(record)
        match payload:
            case SessionHeader():
                self.session_id, self.cwd = payload.id, payload.cwd
                self.permission_mode = str(payload.permission_mode)
            case OriginRecord():
                self.has_origin = True
            case TaskRecord():
                self._begin(payload)
            case RequestRecord():
                self._task(payload.task_id).model = payload.model
            case MessageRecord():
                self._row(payload)
            case TurnRecord(turn=AssistantTurn() as turn):
                self._reply(payload.task_id, turn)
            case CheckpointRecord():
                yield from self._checkpoint(payload.checkpoint, payload.call_id)
            case RewindStartRecord():
                yield from self._checkpoint(payload.files.before, None)
            case _:
                yield from self._call_event(record.ts, payload)

    def _begin(self, record: TaskRecord) -> None:
        """Start a task. A new top-level task drops the intent, which belongs to one such task and its subtasks."""
        self._task(record.task_id).parent = record.parent_task_id or ""
        if record.parent_task_id is None and record.task_id != self.root:
            self.root, self.intent = record.task_id, ""

    def _call_event(self, ts: int, payload: Payload | None) -> Iterator[Told]:
        match payload:
            case VerdictRecord():
                row_fields = {"decision": payload.decision, "reason": payload.reason[:MAX_TEXT_LENGTH]}
                self._change_story(
                    payload.call_id, payload.tool, payload.task_id, rule=payload.rule or "", **row_fields
                )
            case AnswerRecord() if payload.ts in self.asks:
                call_id = self.asks.pop(payload.ts)
                text = (payload.text or "")[:MAX_TEXT_LENGTH]
                self._change_story(
                    call_id, answered_ms=ts, answer=payload.response, answer_text=text, answered_by=payload.by
                )
            case ToolStartRecord():
                shown = _bounded(payload.input)
                self._change_story(payload.call_id, payload.tool, payload.task_id, started_ms=ts, input=shown)
                yield from self._announced(payload.call_id)
            case FileStampsRecord() if payload.call_id in self.before or payload.call_id in self.shown:
                self.paths[payload.call_id] = [*payload.files]
            case ToolEndRecord():
                yield from self._ended(ts, payload)
            case _:
                pass

    def _task(self, task_id: str) -> _TaskNow:
        if task_id not in self.tasks:
            if len(self.tasks) >= MAX_TASKS:
                del self.tasks[next(iter(self.tasks))]
            self.tasks[task_id] = _TaskNow()
        return self.tasks[task_id]

    def _change_story(self, call_id: str, tool: str = "", task_id: str = "", **fields: Any) -> None:
        story = self.calls.get(call_id)
        if story is None:
            if len(self.calls) >= MAX_OPEN_CALLS:
                del self.calls[next(iter(self.calls))]
            story = CallStory(call_id=call_id, tool=tool, task_id=task_id)
        self.calls[call_id] = msgspec.structs.replace(story, **fields)

    def _row(self, record: MessageRecord) -> None:
        row, task = record.message, self._task(record.task_id)
        if is_request_row(row):
            _note_request(task, row)
        elif not task.parent and self._is_prompt(row, task):
            self.prompt, self.prompts = (row.text or "")[:MAX_TEXT_LENGTH], self.prompts + 1
        elif row.call_id is not None and not row.partial:
            if row.ask is not None and not row.is_answered:
                self.asks[row.ts] = row.call_id
                self._change_story(row.call_id, asked_ms=row.ts)
            shown = _shown_change(row)
            if shown is not None:
                self.shown[row.call_id] = shown
        if row.say == "text":
            task.has_begun = True

    def _is_prompt(self, row: Message, task: _TaskNow) -> bool:
        return row.say == "user_feedback" or (row.say == "text" and not task.has_begun)

    def _reply(self, task_id: str, turn: AssistantTurn) -> None:
        task = self._task(task_id)
        for block in turn.content:
            if isinstance(block, TextBlock) and block.text.strip():
                task.said = block.text.strip()[-MAX_TEXT_LENGTH:]
            elif isinstance(block, ToolUseBlock):
                self.calls.pop(block.id, None)  # the id was used in an earlier reply
                self._change_story(
                    block.id,
                    block.name,
                    task_id,
                    input=_bounded(block.input),
                    model=turn.model or task.model,
                    said=task.said,
                    prompt=self.prompt,
                    cost=task.cost,
                    tokens_in=task.tokens_in,
                    tokens_out=task.tokens_out,
                )

    def _checkpoint(self, now: str, call_id: str | None) -> Iterator[Told]:
        """A checkpoint was made, before a call if one is named. It completes the changes of the call before."""
        changed = self.changed or self._cut_off(call_id)
        if changed is not None:
            yield self._changes(changed, now)
        self.changed = None
        self.before = {} if call_id is None else {call_id: now}
        self.paths = {} if call_id is None else _only(self.paths, call_id)
        self.shown = {} if call_id is None else _only(self.shown, call_id)

    def _cut_off(self, next_call: str | None) -> CallStory | None:
        """The call that ran when its process was killed: it has a checkpoint and a start, but no end.

        An edit did not come to say which files it wrote, but its row does; the others are not its own.
        """
        stories = (self.calls.get(call_id) for call_id in self.before if call_id != next_call)
        story = next((story for story in stories if story is not None and story.started_ms), None)
        if story is None:
            return None
        if (shown := self.shown.get(story.call_id)) is not None and not SEVERAL_FILES.search(shown.diff):
            self.paths.setdefault(story.call_id, [shown.path])
        return self._interrupted(story)

    def _announced(self, call_id: str) -> Iterator[Told]:
        """The changes that the row of a starting edit shows. Its end replaces them, unless its process is killed."""
        if call_id in self.shown:
            yield self._changes(self._interrupted(self.calls[call_id]), "")

    def _interrupted(self, story: CallStory) -> CallStory:
        return msgspec.structs.replace(
            story, status="interrupted", intent=self.intent, permission_mode=self.permission_mode
        )

    def _changes(self, story: CallStory, after: str) -> CallChanges:
        shown = self.shown.get(story.call_id)
        return CallChanges(
            story=story,
            before=self.before.get(story.call_id, "") if after else "",
            after=after,
            paths=tuple(self.paths.get(story.call_id, ())),
            shown=() if shown is None else (shown,),
        )

    def _ended(self, ts: int, record: ToolEndRecord) -> Iterator[Told]:
        self._change_story(record.call_id, record.tool, record.task_id, status=record.status)
        story = self.calls.pop(record.call_id)
        if record.tool == SELECT_INTENT and record.status == "success":
            chosen = story.input.get("intent_id")
            self.intent = chosen[:MAX_TEXT_LENGTH] if isinstance(chosen, str) else ""
        self.asks = {row: call for row, call in self.asks.items() if call != record.call_id}
        is_decided = story.decision and story.answer not in (APPROVED, CHANGED)
        refusal = "" if record.status != "denied" or is_decided else (record.reason or "")[:MAX_TEXT_LENGTH]
        story = msgspec.structs.replace(
            story,
            refusal=refusal,
            intent=self.intent,
            permission_mode=self.permission_mode,
            started_ms=story.started_ms or ts,
        )
        yield story
        if record.call_id in self.before:
            self.changed = story
        if record.call_id in self.shown:
            is_done = record.status == "success"
            yield self._changes(story, "") if is_done else CallChanges(story=story)
            if not is_done and record.call_id not in self.before:
                del self.shown[record.call_id]


def _note_request(task: _TaskNow, row: Message) -> None:
    info = request_info(row.text)
    if info is None or "cost" not in info:
        return
    cost = info["cost"]
    task.cost = float(cost) if isinstance(cost, int | float) else None
    task.tokens_in, task.tokens_out = (
        value if isinstance(value, int) else 0 for value in (info.get("tokensIn"), info.get("tokensOut"))
    )


def _shown_change(row: Message) -> ShownChange | None:
    """The diff in a row about a file, in the format of the seed's protocol."""
    if "tool" not in (row.ask, row.say) or '"diff"' not in (row.text or ""):
        return None
    row_fields = request_info(row.text) or {}
    path, diff = row_fields.get("path"), row_fields.get("diff")
    if not isinstance(path, str) or not isinstance(diff, str) or len(diff) > MAX_DIFF_LENGTH:
        return None
    return ShownChange(path=path, diff=diff)


def _only(by_call: dict[str, T], call_id: str) -> dict[str, T]:
    return {call_id: by_call[call_id]} if call_id in by_call else {}


def _bounded(value: dict[str, Any]) -> dict[str, Any]:
    """The input of a call with long texts shortened, which is enough to recognise it."""
    return {key: _cut_value(each) for key, each in value.items()}


def _cut_value(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= MAX_INPUT_LENGTH else value[:MAX_INPUT_LENGTH] + "…"
    text = msgspec.json.encode(value)
    return value if len(text) <= MAX_INPUT_LENGTH else text[:MAX_INPUT_LENGTH].decode("utf-8", "replace") + "…"
