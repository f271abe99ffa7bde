"""The transcript: what the events of a session add to the conversation, in the order in which a client prints it."""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum, auto
from typing import Any, Final

import msgspec

from robota.clients.view.model import LiveTool
from robota.protocol.asks.kinds import APPROVAL_ASKS
from robota.protocol.calls import CallPurpose
from robota.protocol.events import (
    ContextReduced,
    ContextUpdate,
    Event,
    MessageCreated,
    MessageUpdated,
    Notice,
    PartialMessage,
    RetryScheduled,
    Sandbox,
    TaskModeSwitched,
    TaskSpawned,
    TextDelta,
    TodosUpdated,
    ToolEnd,
    ToolStart,
    TurnReply,
)
from robota.protocol.message import SPOKEN, Message, TodoItem

# The protocol has codes for some errors; clients choose the text.
ERROR_TEXTS: Final = {"MODEL_NO_ASSISTANT_MESSAGES": "The model returned an empty answer."}
RETRY_CAUSES: Final = {
    "rate_limit": "The model server limits the request rate",
    "overloaded": "The model server is overloaded",
    "server_error": "The model server failed",
    "connection": "The model server cannot be reached",
    "stream_cut": "The answer was cut off",
    "empty_reply": "The model returned an empty answer",
}
STREAM_CUT: Final = "stream_cut"
REDUCTIONS: Final = {
    "condensed": "conversation condensed",
    "cut": "old tool output removed",
    "restored": "removed content restored for the model",
}


class RemarkKind(Enum):
    """How important a remark is."""

    DETAIL = auto()
    NOTICE = auto()
    WARNING = auto()
    ERROR = auto()


class PromptSaid(msgspec.Struct, frozen=True):
    """A text of the user; in a subtask, it comes from the model."""

    text: str


class AnswerStarted(msgspec.Struct, frozen=True):
    """The model begins to answer."""


class AnswerGrew(msgspec.Struct, frozen=True):
    """More text of the answer."""

    text: str


class AnswerFinished(msgspec.Struct, frozen=True):
    """The answer is complete, or was interrupted."""

    is_interrupted: bool


class ReplySaid(msgspec.Struct, frozen=True):
    """A whole reply of the model, for clients that do not stream it."""

    text: str
    has_calls: bool


class ReasoningSaid(msgspec.Struct, frozen=True):
    """The reasoning of the model."""

    text: str


class CallStarted(msgspec.Struct, frozen=True):
    """A call starts."""

    call: LiveTool


class CallFinished(msgspec.Struct, frozen=True, kw_only=True):
    """A call has ended. `is_newest` if no other has started since; `is_change_known` if its diff was approved."""

    call: LiveTool
    is_newest: bool = True
    is_change_known: bool = False


class PlanChanged(msgspec.Struct, frozen=True):
    """The plan of the task."""

    todos: tuple[TodoItem, ...]


class RetryPlanned(msgspec.Struct, frozen=True):
    """A request will be sent again; `is_answer_cut` if an answer broke off that is on the screen."""

    event: RetryScheduled
    is_answer_cut: bool


class Remark(msgspec.Struct, frozen=True):
    """A remark of the program. `can_be_undone`: it is about what a command has changed that nobody approved."""

    text: str
    kind: RemarkKind
    can_be_undone: bool = False


Entry = (
    PromptSaid
    | AnswerStarted
    | AnswerGrew
    | AnswerFinished
    | ReplySaid
    | ReasoningSaid
    | CallStarted
    | CallFinished
    | PlanChanged
    | RetryPlanned
    | Remark
)


class Transcript:
    """Turns events into entries, each once."""

    def __init__(self) -> None:
        self._begun: set[str] = set()  # tasks whose prompt was shown
        self._depths: dict[str, int] = {}
        self._agents: set[str] = set()  # tasks beside the conversation, which are not shown
        self._calls: dict[str, LiveTool] = {}  # those that run
        self._newest_call = ""
        self._asked: set[str] = set()
        self._changed: set[str] = set()
        self._streaming: int | None = None  # the `ts` of the streaming row; `_taken` characters are shown
        self._taken = 0
        self._is_interrupted = False  # the newest answer
        self._max_tokens = 0
        self._steps: Mapping[type, Callable[[Any], Iterator[Entry]]] = {
            MessageCreated: self._created,
            MessageUpdated: self._updated,
            TextDelta: self._grown,
            PartialMessage: self._grown,
            TurnReply: self._replied,
            ToolStart: self._call_started,
            ToolEnd: self._call_ended,
            TaskSpawned: self._spawned,
            TodosUpdated: self._plan_changed,
            TaskModeSwitched: self._mode_switched,
            ContextUpdate: self._context_updated,
            ContextReduced: self._context_reduced,
            RetryScheduled: self._retried,
            Notice: self._noticed,
            Sandbox: self._sandboxed,
        }

    def entries(self, event: Event) -> Iterator[Entry]:
        """What the event adds."""
        step = self._steps.get(type(event))
        is_left_out = self.is_beside(event) and not isinstance(event, TaskSpawned)
        return iter(()) if step is None or is_left_out else step(event)

    def is_beside(self, event: Event) -> bool:
        """Whether the event is of an agent that works beside the conversation."""
        return bool(self._agents) and getattr(event, "task_id", None) in self._agents

    def depth_of(self, event: Event) -> int:
        """How deep the task of the event is: 0, or more in a subtask."""
        return self._depths.get(getattr(event, "task_id", None) or "", 0)

    def resume(self, task_id: str | None) -> None:
        """Note that the first prompt of this task was shown by another process."""
        if task_id is not None:
            self._begun.add(task_id)

    def show_change_of(self, call_id: str) -> None:
        """Show the change at the end of this call, because it differs from what was approved."""
        self._changed.add(call_id)

    def is_edited(self, call_id: str) -> bool:
        """Whether the user has edited the call before it ran."""
        return call_id in self._changed

    def _created(self, event: MessageCreated) -> Iterator[Entry]:
        row = event.message
        if event.task_id not in self._begun:
            self._begun.add(event.task_id)
            yield PromptSaid(row.text or "")
        elif row.ask in APPROVAL_ASKS and row.call_id is not None:
            self._asked.add(row.call_id)
        elif row.say == "user_feedback":
            yield PromptSaid(row.text or "")
        elif row.say in SPOKEN:
            yield from self._answer_started(row)
        elif row.say == "error" and row.text and row.call_id is None:  # errors of calls are shown with their end
            yield Remark(ERROR_TEXTS.get(row.text, row.text), RemarkKind.ERROR)
        elif row.say == "condense_context":
            yield Remark("(condensing the conversation)", RemarkKind.DETAIL)

    def _answer_started(self, row: Message) -> Iterator[Entry]:
        self._streaming, self._taken = row.ts, 0
        yield AnswerStarted()
        yield from self._more(row.text or "")
        if not row.partial:
            yield from self._answer_finished(row)

    def _grown(self, event: TextDelta | PartialMessage) -> Iterator[Entry]:
        if event.ts == self._streaming and event.delta:
            self._taken += len(event.delta)
            yield AnswerGrew(event.delta)

    def _more(self, text: str) -> Iterator[Entry]:
        self._taken += len(text)
        if text:
            yield AnswerGrew(text)

    def _updated(self, event: MessageUpdated) -> Iterator[Entry]:
        row = event.message
        if row.ts == self._streaming and not row.partial:
            yield from self._answer_finished(row)
        elif row.say == "reasoning" and not row.partial and row.text:
            yield ReasoningSaid(row.text)
        elif row.say == "condense_context_error":
            yield Remark(row.text or "", RemarkKind.ERROR)

    def _answer_finished(self, row: Message) -> Iterator[Entry]:
        yield from self._more((row.text or "")[self._taken :])
        self._streaming, self._is_interrupted = None, bool(row.interrupted)
        yield AnswerFinished(self._is_interrupted)

    def _replied(self, event: TurnReply) -> Iterator[Entry]:
        if text := event.reply.text.strip():
            yield ReplySaid(text, bool(event.reply.tool_uses))

    def _call_started(self, event: ToolStart) -> Iterator[Entry]:
        call = LiveTool(
            call_id=event.call_id,
            label=event.label,
            first_arg=event.first_arg,
            title=event.title or f"{event.label} {event.first_arg}".rstrip(),
            purpose=event.purpose,
        )
        self._calls[event.call_id] = call
        self._newest_call = event.call_id
        yield CallStarted(call)

    def _call_ended(self, event: ToolEnd) -> Iterator[Entry]:
        title = f"{event.label} {event.first_arg}".rstrip()
        started = self._calls.pop(event.call_id, None) or LiveTool(call_id=event.call_id, title=title)
        call = msgspec.structs.replace(
            started, status=event.status, duration_ms=event.duration_ms, reason=event.reason, view=event.view
        )
        is_known = event.call_id in self._asked and event.call_id not in self._changed
        yield CallFinished(call=call, is_newest=event.call_id == self._newest_call, is_change_known=is_known)

    def _spawned(self, event: TaskSpawned) -> Iterator[Entry]:
        self._depths[event.child_task_id] = self._depths.get(event.task_id, 0) + 1
        if event.agent_id is not None or event.task_id in self._agents:
            self._agents.add(event.child_task_id)
        yield from ()

    def _plan_changed(self, event: TodosUpdated) -> Iterator[Entry]:
        yield PlanChanged(event.todos)

    def _mode_switched(self, event: TaskModeSwitched) -> Iterator[Entry]:
        """A call that switches the mode says so itself."""
        if not any(call.purpose is CallPurpose.WORK for call in self._calls.values()):
            yield Remark(f"Task mode: {event.mode}", RemarkKind.DETAIL)

    def _context_updated(self, event: ContextUpdate) -> Iterator[Entry]:
        self._max_tokens = event.max_tokens
        yield from ()

    def _context_reduced(self, event: ContextReduced) -> Iterator[Entry]:
        done = REDUCTIONS.get(event.how, "conversation shortened")
        before, after, window = event.prev_context_tokens, event.new_context_tokens, self._max_tokens
        share = f" ({before / window:.0%} to {after / window:.0%} of the context window)" if window else ""
        yield Remark(f"{done}: {before:,} to {after:,} tokens{share}", RemarkKind.DETAIL)

    def _retried(self, event: RetryScheduled) -> Iterator[Entry]:
        is_cut = event.error == STREAM_CUT and self._is_interrupted
        self._is_interrupted = self._is_interrupted and not is_cut
        yield RetryPlanned(event, is_cut)

    def _noticed(self, event: Notice) -> Iterator[Entry]:
        kind = RemarkKind.WARNING if event.level == "warning" else RemarkKind.NOTICE
        yield Remark(event.text, kind, can_be_undone=event.undo_call is not None)

    def _sandboxed(self, event: Sandbox) -> Iterator[Entry]:
        if event.kind == "none":
            text = f"! No sandbox is available, so commands run only if a rule allows them: {event.reason}."
            yield Remark(text, RemarkKind.WARNING)


def retry_in_words(event: RetryScheduled, left_s: int | None = None) -> str:
    """Why and when a request is retried, and how often; `left_s` is the rest of the pause in seconds."""
    cause = RETRY_CAUSES.get(event.error, event.error)
    if event.error_status is not None:
        status = f" (HTTP {event.error_status})"
    else:
        status = f" ({event.reason})" if event.reason else ""
    pause = f"{event.delay_ms / 1000:.1f} s" if left_s is None else f"{left_s} s"
    return f"{cause}{status}. Retrying in {pause} ({event.attempt} of {event.max_retries})."
