"""The view model: everything that a drawing client needs, as one immutable value."""

from collections.abc import Mapping

import msgspec

from robota.clients.view.other_tasks import OtherTasks, first_ask
from robota.clients.view.rows import MessageRows
from robota.protocol.asks.ask import Ask
from robota.protocol.asks.kinds import NOTHING_TO_DO_ASKS
from robota.protocol.asks.seed import ask_of
from robota.protocol.calls import BackgroundTask, CallPurpose, PastCall
from robota.protocol.events import (
    ContextUpdate,
    Notice,
    RetryScheduled,
    SessionState,
    TokenUsage,
)
from robota.protocol.message import Message, QueuedMessage, TodoItem
from robota.protocol.state import AgentStateInfo, RequiredAction, state_of
from robota.protocol.views import View

RUNNING = "running"
PAGE_CHARS = 2048


class StreamedText(msgspec.Struct, frozen=True, kw_only=True):
    """Immutable text that arrives in pieces: appending one copies the tail (at most a page), not the whole text."""

    pages: tuple[str, ...] = ()
    tail: str = ""

    def plus(self, delta: str) -> "StreamedText":
        tail = self.tail + delta
        if len(tail) < PAGE_CHARS:
            return StreamedText(pages=self.pages, tail=tail)
        return StreamedText(pages=(*self.pages, tail))

    def __str__(self) -> str:
        return "".join(self.pages) + self.tail


class LiveTool(msgspec.Struct, frozen=True, kw_only=True):
    """A call of the newest reply. `status` is running, or as in `ToolEnd`; `output` is the end of its output."""

    call_id: str
    tool: str = ""
    label: str = ""
    first_arg: str = ""
    title: str = ""
    purpose: CallPurpose = CallPurpose.WORK
    status: str = RUNNING
    output: str = ""
    duration_ms: int = 0
    reason: str | None = None
    view: View | None = None


class CallBeingWritten(msgspec.Struct, frozen=True, kw_only=True):
    """A call whose arguments the model is still writing."""

    call_id: str
    tool: str
    first_arg: str | None = None
    arguments: StreamedText = StreamedText()


class OpenAsk(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent asks the user now. `asked` is None for an unknown kind."""

    message: Message
    required_action: RequiredAction
    asked: Ask | None = None


def open_ask(row: Message) -> OpenAsk:
    """The ask of a row that waits for an answer."""
    return OpenAsk(message=row, required_action=state_of(row, None).required_action, asked=ask_of(row))


class ViewModel(msgspec.Struct, frozen=True, kw_only=True):
    """The whole view.

    `rows` are the messages exactly as the engine last sent them. Text that came since then in deltas is in
    `streams`, by row, so that a delta never touches the rows; `text_of` joins the two. `request` is the newest
    request row. `session` carries no messages; they are in `rows`.
    """

    session: SessionState | None = None
    rows: MessageRows = MessageRows()
    streams: Mapping[int, StreamedText] = {}
    tools: Mapping[str, LiveTool] = {}
    writing: Mapping[str, CallBeingWritten] = {}
    request: Message | None = None
    answered_ts: int | None = None
    is_thinking: bool = False
    has_ended: bool = False  # the task sends no more events
    usage: TokenUsage = TokenUsage()
    context: ContextUpdate | None = None
    retry: RetryScheduled | None = None
    queue: tuple[QueuedMessage, ...] = ()
    todos: tuple[TodoItem, ...] = ()
    notices: tuple[Notice, ...] = ()
    background: tuple[BackgroundTask, ...] = ()
    seen_background: frozenset[str] = frozenset()  # what had completed at the user's last message
    kept_out: str = ""  # what the sandbox denies to commands
    past_calls: tuple[PastCall, ...] = ()  # calls of rows that were loaded, not streamed
    others: OtherTasks = {}  # the tasks beside the shown one, by id

    @property
    def agent(self) -> AgentStateInfo:
        """The state of the agent, the same as `StateTracker.info` for the same rows."""
        return state_of(self.rows.last(), self.request)

    @property
    def pending_ask(self) -> OpenAsk | None:
        """The ask that the user is to answer now: that of the shown task, unless it only waits for the next prompt and
        another task asks something; then the oldest ask of the others."""
        own, other = self._own_ask, first_ask(self.others)
        is_busy = own is not None and own.message.ask not in NOTHING_TO_DO_ASKS
        return own if is_busy or other is None else open_ask(other)

    @property
    def open_asks(self) -> tuple[OpenAsk, ...]:
        """All open asks: that of the shown task, then those of the others."""
        others = sorted((ask for task in self.others.values() for ask in task.asks), key=lambda ask: ask.ts)
        return (*filter(None, (self._own_ask,)), *map(open_ask, others))

    def is_asked_beside(self, ts: int) -> bool:
        """Whether the ask is of another task than the shown one, such as an agent."""
        return any(ask.ts == ts for task in self.others.values() for ask in task.asks)

    @property
    def _own_ask(self) -> OpenAsk | None:
        """The ask at the end of the rows, unless it was answered."""
        last = self.rows.last()
        agent = self.agent
        if last is None or agent.current_ask is None or last.is_answered or last.ts == self.answered_ts:
            return None
        return OpenAsk(message=last, required_action=agent.required_action, asked=ask_of(last))

    def text_of(self, row: Message) -> str:
        """The text of a row, including everything streamed so far."""
        streamed = self.streams.get(row.ts)
        return (row.text or "") + (str(streamed) if streamed is not None else "")
