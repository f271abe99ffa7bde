"""What a log holds of a session so that it can be run again: prompts, replies, answers, and what came of each call."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from robota.log.kinds.calls import (
    AnswerRecord,
    CheckpointRecord,
    FileStampsRecord,
    ResultRecord,
    ToolEndRecord,
    ToolStartRecord,
)
from robota.log.kinds.conversation import MessageRecord, TurnRecord
from robota.log.kinds.requests import ContentRecord, RequestRecord
from robota.log.kinds.rewinds import RewindStartRecord
from robota.log.kinds.session import SessionHeader, TaskRecord
from robota.log.record import Payload, PayloadError, Record, payload_of
from robota.proof.replay.comparison import words_in
from robota.protocol.asks.kinds import RESUMABLE_ASKS
from robota.protocol.conversation import AssistantTurn, TextBlock, ToolResultBlock, UserTurn
from robota.protocol.message import Message
from robota.protocol.state import is_request_row
from robota.providers.chunks import ToolSpec

INTERRUPTED: Final = "[interrupted by the user]"
COMPLETION: Final = "completion_result"
RESUME_COMPLETED: Final = "resume_completed_task"


class RecordedReply(msgspec.Struct, frozen=True, kw_only=True):
    """What the model answered to a request: a turn, or the summary of a conversation. `ts` is that of the request."""

    ts: int
    turn: AssistantTurn
    cost: float | None = None


class RunCall(msgspec.Struct, kw_only=True):
    """A call and what came of it. `input` is what it ran with; None if it was stopped before it ran.

    `before` and `after` are the checkpoints around it, `paths` the files that it says it wrote.
    """

    call_id: str
    tool: str
    input: dict[str, Any] | None = None
    status: str = ""
    result: ToolResultBlock | None = None
    before: str = ""
    after: str = ""
    paths: tuple[str, ...] = ()


class RecordedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a person answered to an ask of a kind, about a call if it was about one, after that many prompts."""

    kind: str
    call_id: str | None
    response: str
    text: str
    prompt: int


class RecordedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """What a task of the person began with."""

    text: str
    mode: str
    ts: int


class Recording(msgspec.Struct, kw_only=True):
    """A session, as far as it can be run again. `ends_because` says why it ends before the log does, if so.

    `start` is the first checkpoint; empty if there is none. `systems` are the system prompts by mode.
    """

    header: SessionHeader
    prompts: list[RecordedPrompt] = []
    replies: list[RecordedReply] = []
    answers: list[RecordedAnswer] = []
    calls: dict[str, deque[RunCall]] = {}
    systems: dict[str, str] = {}
    specs: tuple[ToolSpec, ...] = ()
    context_window: int = 0
    start: str = ""
    ends_because: str = ""
    records: list[Record] = []


class NotReplayable(Exception):
    """There is nothing that could be run again; the text says why, for a person."""


def recording_of(records: Iterable[Record], artifact: Callable[[str], bytes]) -> Recording:
    """Read a recording. `artifact` reads a large text by its name beside the log. Raises `NotReplayable`."""
    fold = _RecordingFold(artifact)
    for record in records:
        try:
            payload = payload_of(record)
        except PayloadError:
            continue
        if payload is not None and not fold.take(record, payload):
            break
    return fold.recording()


class _RecordingFold:
    def __init__(self, artifact: Callable[[str], bytes]) -> None:
        self._artifact = artifact
        self._contents: dict[str, str | None] = {}
        self._modes: dict[str, str] = {}
        self._subtasks: set[str] = set()
        self._asks: dict[int, Message] = {}
        self._open: dict[str, RunCall] = {}
        self._changing: RunCall | None = None
        self._request: dict[str, Message] = {}
        self._specs: dict[str, ToolSpec] = {}
        self._found: Recording | None = None
        self._calls: dict[str, deque[RunCall]] = defaultdict(deque)
        self._summaries: set[int] = set()
        self._begun: set[str] = set()
        self._words: int | None = None

    def take(self, record: Record, payload: Payload) -> bool:
        """Take in the next record; False if what follows cannot be run again."""
        if isinstance(payload, SessionHeader):
            return self._header(payload)
        if self._found is None:
            return True
        self._found.records.append(record)
        match payload:
            case TaskRecord():
                self._task(payload)
            case ContentRecord():
                self._contents[payload.hash] = payload.text
            case RequestRecord():
                self._made_of(payload)
            case MessageRecord():
                return self._row(payload.task_id, payload.message)
            case TurnRecord():
                return self._turn(record.ts, payload)
            case CheckpointRecord():
                self._checkpoint(payload.checkpoint, payload.call_id)
            case RewindStartRecord():
                self._found.ends_because = "somebody went back in it"
                return False
            case _:
                self._call(payload)
        return not self._found.ends_because

    def recording(self) -> Recording:
        if self._found is None or not self._found.prompts or not self._found.replies:
            raise NotReplayable("The log holds no prompt with an answer, so there is nothing to run again")
        found = self._found
        return msgspec.structs.replace(found, calls=dict(self._calls), specs=tuple(self._specs.values()))

    def _header(self, header: SessionHeader) -> bool:
        """A header in the middle tells of another permission mode; that of an import has another id."""
        if self._found is None:
            self._found = Recording(header=header)
        return header.id == self._found.header.id

    def _task(self, record: TaskRecord) -> None:
        self._modes[record.task_id] = record.mode
        if record.parent_task_id is not None:
            self._subtasks.add(record.task_id)

    def _made_of(self, record: RequestRecord) -> None:
        assert self._found is not None
        self._found.systems.setdefault(self._modes.get(record.task_id, ""), self._text(record.system))
        self._found.context_window = self._found.context_window or record.context_window
        for spec in msgspec.json.decode(self._text(record.tools), type=list[ToolSpec]):
            self._specs.setdefault(spec.name, spec)

    def _text(self, name: str) -> str:
        known = self._contents.get(name)
        return self._artifact(name).decode("utf-8", "replace") if known is None else known

    def _row(self, task_id: str, row: Message) -> bool:
        assert self._found is not None
        if row.ask in RESUMABLE_ASKS:
            self._found.ends_because = "another process took it up in the middle of a task"
            return False
        if row.ask is not None:
            self._asks[row.ts] = row
        elif is_request_row(row):
            self._request[task_id] = row
        elif row.say == "condense_context" and row.context_condense and row.ts not in self._summaries:
            self._summaries.add(row.ts)
            summary = str(row.context_condense.get("summary") or "")
            turn = AssistantTurn(content=(TextBlock(text=summary),), stop_reason="end_turn")
            self._found.replies.append(RecordedReply(ts=row.ts, turn=turn, cost=_number(row.context_condense, "cost")))
        return True

    def _turn(self, ts: int, record: TurnRecord) -> bool:
        assert self._found is not None
        turn, task = record.turn, record.task_id
        if isinstance(turn, UserTurn):
            for block in turn.content:
                if isinstance(block, ToolResultBlock):
                    self._result(block)
            self._prompt(ts, task, turn)
            return True
        if any(isinstance(block, TextBlock) and block.text.endswith(INTERRUPTED) for block in turn.content):
            self._found.ends_because = "the person interrupted it there"
            return False
        row = self._request.get(task)
        info = _decoded(row.text if row is not None else None)
        self._found.replies.append(RecordedReply(ts=row.ts if row else ts, turn=turn, cost=_number(info, "cost")))
        for use in turn.tool_uses:
            call = RunCall(call_id=use.id, tool=use.name)
            self._open[use.id] = call
            self._calls[use.id].append(call)
        return True

    def _prompt(self, ts: int, task: str, turn: UserTurn) -> None:
        """Words of the person are given as the model was told them: with what they mention, and what hooks added."""
        assert self._found is not None
        told = words_in(turn)
        if task in self._modes and task not in self._subtasks and task not in self._begun:
            self._begun.add(task)
            self._found.prompts.append(RecordedPrompt(text=told, mode=self._modes[task], ts=ts))
        elif told and self._words is not None:
            self._found.answers[self._words] = msgspec.structs.replace(self._found.answers[self._words], text=told)
        self._words = None

    def _checkpoint(self, checkpoint: str, call_id: str | None) -> None:
        assert self._found is not None
        self._found.start = self._found.start or checkpoint
        if self._changing is not None:
            self._changing.after = checkpoint
        self._changing = self._open.get(call_id or "")
        if self._changing is not None:
            self._changing.before = checkpoint

    def _call(self, payload: Payload) -> None:
        match payload:
            case ToolStartRecord() if payload.call_id in self._open:
                self._open[payload.call_id].input = payload.input
            case ToolEndRecord() if payload.call_id in self._open:
                self._open[payload.call_id].status = payload.status
            case FileStampsRecord() if payload.call_id in self._open:
                self._open[payload.call_id].paths = tuple(payload.files)
            case ResultRecord():
                self._result(payload.result)
            case AnswerRecord() if payload.ts in self._asks:
                self._answer(payload, self._asks[payload.ts])
            case _:
                pass

    def _result(self, block: ToolResultBlock) -> None:
        if block.tool_use_id in self._open:
            self._open[block.tool_use_id].result = block

    def _answer(self, record: AnswerRecord, row: Message) -> None:
        assert self._found is not None
        # Whoever takes up a finished session and says something goes on with it as if nobody had left.
        is_taken_up = row.ask == RESUME_COMPLETED
        if is_taken_up and not record.text:
            self._found.ends_because = "another process took it up without a word"
            return
        answer = RecordedAnswer(
            kind=COMPLETION if is_taken_up else row.ask or "",
            call_id=row.call_id,
            response=record.response,
            text=record.text or "",
            prompt=len(self._found.prompts),
        )
        if answer.kind == COMPLETION and answer.text:
            self._words = len(self._found.answers)
        self._found.answers.append(answer)


def _decoded(text: str | None) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _number(values: dict[str, Any], key: str) -> float | None:
    value = values.get(key)
    return float(value) if isinstance(value, int | float) else None
