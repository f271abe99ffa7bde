"""`StateStore`: what a client knows of a session, kept up to date by a `MessageProcessor`."""

from collections.abc import Sequence

from robota.protocol.asks.ask import Ask
from robota.protocol.asks.seed import ask_of
from robota.protocol.conversation import ToolUseBlock
from robota.protocol.message import Message
from robota.protocol.state import AgentStateInfo, StateTracker
from robota.protocol.wire import Value


class UnansweredAsk(Value, frozen=True, kw_only=True):
    """A question that waits for an answer. `ts` names it in an `askResponse`; `ask` is None for an unknown kind.

    `call` is the call of a tool that the question is about, if the store has seen the reply of the model with it.
    """

    ts: int
    ask: Ask | None
    message: Message
    call: ToolUseBlock | None = None


class StateStore:
    """The messages of the task, the state of the agent that follows from them, and the current mode."""

    def __init__(self) -> None:
        self.tracker = StateTracker()
        self.is_initialized = False
        self.current_mode: str | None = None
        self.calls: dict[str, ToolUseBlock] = {}  # the calls of the newest reply, by id

    @property
    def messages(self) -> Sequence[Message]:
        """The rows of the task, oldest first."""
        return self.tracker.messages

    @property
    def agent_state(self) -> AgentStateInfo:
        """What the agent does, and what it needs."""
        return self.tracker.info

    @property
    def pending(self) -> UnansweredAsk | None:
        """The question at which the agent waits; None while it works."""
        info = self.agent_state
        if info.current_ask is None or not info.is_waiting_for_input:
            return None
        message = self.messages[-1]
        call = self.calls.get(message.call_id or "")
        return UnansweredAsk(ts=message.ts, ask=ask_of(message), message=message, call=call)
