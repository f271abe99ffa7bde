"""The events of a client for its own listeners: `stateChange`, `waitingForInput`, `taskCompleted` …."""

from robota.protocol.events import TokenUsage
from robota.protocol.state import AgentState, RequiredAction
from robota.protocol.wire import Value


class ClientEvent(Value, frozen=True, kw_only=True, omit_defaults=False, tag_field="emit"):
    """The base of these events."""


class StateChange(ClientEvent, frozen=True, kw_only=True, tag="stateChange"):
    previous_state: AgentState
    state: AgentState


class WaitingForInput(ClientEvent, frozen=True, kw_only=True, tag="waitingForInput"):
    ask: str
    required_action: RequiredAction


class ResumedRunning(ClientEvent, frozen=True, kw_only=True, tag="resumedRunning"):
    """The agent works again after it waited."""


class StreamingStarted(ClientEvent, frozen=True, kw_only=True, tag="streamingStarted"):
    """Content of the model begins to arrive."""


class StreamingEnded(ClientEvent, frozen=True, kw_only=True, tag="streamingEnded"):
    """It has arrived."""


class ModeChanged(ClientEvent, frozen=True, kw_only=True, tag="modeChanged"):
    previous_mode: str | None = None
    current_mode: str


class CompletedTask(ClientEvent, frozen=True, kw_only=True, tag="taskCompleted"):
    success: bool = True
    token_usage: TokenUsage


class TaskCleared(ClientEvent, frozen=True, kw_only=True, tag="taskCleared"):
    """No task is shown any more."""


KnownClientEvent = (
    StateChange
    | WaitingForInput
    | ResumedRunning
    | StreamingStarted
    | StreamingEnded
    | ModeChanged
    | CompletedTask
    | TaskCleared
)
