"""The view model: everything that a drawing client needs, as one immutable value."""

from collections.abc import Mapping

import msgspec

from robota.clients.view.rows import MessageRows
from robota.protocol.asks.ask import Ask
from robota.protocol.asks.seed import ask_of
from robota.protocol.calls import CallPurpose, PastCall
from robota.protocol.events import (
    BackgroundTask,
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

    @property
    def agent(self) -> AgentStateInfo:
        """The state of the agent, the same as `StateTracker.info` for the same rows."""
        return state_of(self.rows.last(), self.request)

    @property
    def pending_ask(self) -> OpenAsk | None:
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
