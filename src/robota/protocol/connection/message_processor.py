"""`MessageProcessor`: applies the events of a session to a `StateStore`, and says what changed for a client."""

from collections.abc import Iterator

from robota.protocol.connection.client_events import (
    CompletedTask,
    KnownClientEvent,
    ModeChanged,
    ResumedRunning,
    StateChange,
    StreamingEnded,
    StreamingStarted,
    TaskCleared,
    WaitingForInput,
)
from robota.protocol.connection.state_store import StateStore
from robota.protocol.conversation import ToolUseBlock
from robota.protocol.events import (
    Event,
    MessageCreated,
    MessageUpdated,
    State,
    TaskCompleted,
    TaskModeSwitched,
    TurnReply,
)
from robota.protocol.state import AgentState, AgentStateInfo


class MessageProcessor:
    """Follows the events of one session."""

    def __init__(self, store: StateStore | None = None) -> None:
        self.store = StateStore() if store is None else store

    def process(self, event: Event) -> Iterator[KnownClientEvent]:
        """Apply an event; returns what it means for a client. The store has changed once the first is taken."""
        before = self.store.agent_state
        self._apply(event)
        yield from _transitions(before, self.store.agent_state)
        yield from self._mode_change(event)
        if isinstance(event, TaskCompleted) and not event.is_subtask:
            yield CompletedTask(token_usage=event.token_usage)

    def _apply(self, event: Event) -> None:
        tracker = self.store.tracker
        match event:
            case State():
                tracker.replace(event.state.cline_messages)
                self.store.is_initialized = True
            case MessageCreated():
                tracker.created(event.message)
            case MessageUpdated():
                tracker.updated(event.message)
            case TurnReply():
                self.store.calls = {block.id: block for block in event.reply.content if isinstance(block, ToolUseBlock)}
            case _:
                pass

    def _mode_change(self, event: Event) -> Iterator[ModeChanged]:
        match event:
            case State():
                mode = event.state.mode
            case TaskModeSwitched():
                mode = event.mode
            case _:
                return
        before, self.store.current_mode = self.store.current_mode, mode
        if before is not None and mode != before:
            yield ModeChanged(previous_mode=before, current_mode=mode)


def _transitions(before: AgentStateInfo, after: AgentStateInfo) -> Iterator[KnownClientEvent]:
    if after.state is not before.state:
        yield StateChange(previous_state=before.state, state=after.state)
    if after.is_streaming and not before.is_streaming:
        yield StreamingStarted()
    if before.is_streaming and not after.is_streaming:
        yield StreamingEnded()
    is_new_ask = (after.current_ask, after.last_message_ts) != (before.current_ask, before.last_message_ts)
    if after.is_waiting_for_input and after.current_ask is not None and is_new_ask:
        yield WaitingForInput(ask=after.current_ask, required_action=after.required_action)
    if before.is_waiting_for_input and after.is_running:
        yield ResumedRunning()
    if after.state is AgentState.NO_TASK and before.state is not AgentState.NO_TASK:
        yield TaskCleared()
