"""The state of the agent, computed from its messages alone."""

import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, Final

from robota.protocol.asks.kinds import IDLE_ASKS, INTERACTIVE_ASKS, NON_BLOCKING_ASKS, RESUMABLE_ASKS
from robota.protocol.message import Message
from robota.protocol.wire import Value


class AgentState(StrEnum):
    """What the agent is doing."""

    NO_TASK = "no_task"
    RUNNING = "running"
    STREAMING = "streaming"
    WAITING_FOR_INPUT = "waiting_for_input"
    IDLE = "idle"
    RESUMABLE = "resumable"


class RequiredAction(StrEnum):
    """What the agent needs from the user, if anything."""

    NONE = "none"
    APPROVE = "approve"
    ANSWER = "answer"
    RETRY_OR_NEW_TASK = "retry_or_new_task"
    PROCEED_OR_NEW_TASK = "proceed_or_new_task"
    START_TASK = "start_task"
    START_NEW_TASK = "start_new_task"
    RESUME_OR_ABANDON = "resume_or_abandon"
    CONTINUE_OR_ABORT = "continue_or_abort"


ACTIONS: Final = {
    "followup": RequiredAction.ANSWER,
    "command": RequiredAction.APPROVE,
    "tool": RequiredAction.APPROVE,
    "use_mcp_server": RequiredAction.APPROVE,
    "browser_action_launch": RequiredAction.APPROVE,
    "command_output": RequiredAction.CONTINUE_OR_ABORT,
    "api_req_failed": RequiredAction.RETRY_OR_NEW_TASK,
    "mistake_limit_reached": RequiredAction.PROCEED_OR_NEW_TASK,
    "completion_result": RequiredAction.START_TASK,
    "resume_task": RequiredAction.RESUME_OR_ABANDON,
    "resume_completed_task": RequiredAction.START_NEW_TASK,
    "auto_approval_max_req_reached": RequiredAction.PROCEED_OR_NEW_TASK,
}

DESCRIPTIONS: Final = {
    RequiredAction.NONE: "The agent is working.",
    RequiredAction.APPROVE: "The agent needs approval.",
    RequiredAction.ANSWER: "The agent asks a question.",
    RequiredAction.RETRY_OR_NEW_TASK: "The request to the model failed. Retry, or start a new task.",
    RequiredAction.PROCEED_OR_NEW_TASK: "The agent stopped at a limit. Let it proceed, or start a new task.",
    RequiredAction.START_TASK: "The task is complete. Give feedback, or start a new task.",
    RequiredAction.START_NEW_TASK: "The task has ended. Start a new one.",
    RequiredAction.RESUME_OR_ABANDON: "The task is paused. Resume it, or start a new one.",
    RequiredAction.CONTINUE_OR_ABORT: "A command is running. Let it continue, or abort it.",
}

WAITING: Final = frozenset({AgentState.WAITING_FOR_INPUT, AgentState.IDLE, AgentState.RESUMABLE})
# An answered ask of such a state with no row after it has ended the task.
STOPPED: Final = frozenset({AgentState.IDLE, AgentState.RESUMABLE})
BUSY: Final = frozenset({AgentState.RUNNING, AgentState.STREAMING})


class AgentStateInfo(Value, frozen=True, kw_only=True, omit_defaults=False):
    """The state, and what it means for a client."""

    state: AgentState
    is_waiting_for_input: bool
    is_running: bool
    is_streaming: bool
    required_action: RequiredAction
    description: str
    current_ask: str | None = None
    last_message_ts: int | None = None


def detect_agent_state(messages: Sequence[Message]) -> AgentStateInfo:
    """The state of an agent that has sent these messages. Pure."""
    last = messages[-1] if messages else None
    request = next((m for m in reversed(messages) if is_request_row(m)), None)
    return state_of(last, request)


def is_request_row(message: Message) -> bool:
    """Whether a row represents a request to the model."""
    return message.say == "api_req_started"


def state_of(last: Message | None, request: Message | None) -> AgentStateInfo:
    """The rules, over the only two messages that matter: the last one and the newest request row."""
    if last is None:
        return _info(AgentState.NO_TASK, RequiredAction.START_NEW_TASK, None, "There is no task.")
    if last.partial is True:
        return _info(AgentState.STREAMING, RequiredAction.NONE, last)
    if last.type == "ask" and last.ask is not None:
        state = _state_of_ask(last.ask)
        if state is not None and not last.is_answered:
            return _info(state, ACTIONS[last.ask], last)
        if state in STOPPED:
            return _info(AgentState.IDLE, RequiredAction.START_NEW_TASK, last)
    if request is not None and _lacks_cost(request.text):
        return _info(AgentState.STREAMING, RequiredAction.NONE, last)
    return _info(AgentState.RUNNING, RequiredAction.NONE, last)


def _state_of_ask(ask: str) -> AgentState | None:
    if ask in NON_BLOCKING_ASKS:
        return AgentState.RUNNING
    if ask in IDLE_ASKS:
        return AgentState.IDLE
    if ask in RESUMABLE_ASKS:
        return AgentState.RESUMABLE
    if ask in INTERACTIVE_ASKS:
        return AgentState.WAITING_FOR_INPUT
    return None


def _lacks_cost(text: str | None) -> bool:
    """A request without text, or whose JSON has no `cost`, is still running. Unreadable JSON counts as done."""
    if not text:
        return True
    try:
        info: Any = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(info, dict) and "cost" not in info


def _info(
    state: AgentState, action: RequiredAction, last: Message | None, description: str | None = None
) -> AgentStateInfo:
    known_ask = last is not None and last.type == "ask" and not last.is_answered and action is not RequiredAction.NONE
    return AgentStateInfo(
        state=state,
        is_waiting_for_input=state in WAITING,
        is_running=state in BUSY,
        is_streaming=state is AgentState.STREAMING,
        required_action=action,
        description=description or DESCRIPTIONS[action],
        current_ask=last.ask if last is not None and known_ask else None,
        last_message_ts=last.ts if last is not None else None,
    )


class StateTracker:
    """Computes `detect_agent_state` incrementally, in constant time per message.

    It also owns the list of messages, because it must know how messages are created and updated.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.replace(messages)

    @property
    def messages(self) -> Sequence[Message]:
        return self._messages

    @property
    def info(self) -> AgentStateInfo:
        messages = self._messages
        request = messages[self._requests[-1]] if self._requests else None
        return state_of(messages[-1] if messages else None, request)

    def replace(self, messages: Iterable[Message]) -> None:
        """Start over from a full list, as after a `state` event."""
        self._messages = list(messages)
        self._places = {message.ts: place for place, message in enumerate(self._messages)}
        self._requests = [place for place, message in enumerate(self._messages) if is_request_row(message)]

    def created(self, message: Message) -> None:
        place = len(self._messages)
        self._messages.append(message)
        self._places[message.ts] = place
        if is_request_row(message):
            self._requests.append(place)

    def updated(self, message: Message) -> None:
        """Replace the row with the same `ts`; a row never seen is taken as new."""
        place = self._places.get(message.ts)
        if place is None:
            self.created(message)
            return
        before = self._messages[place]
        self._messages[place] = message
        if is_request_row(before) != is_request_row(message):
            # Our engine never does this; for a foreign one, scan again.
            self._requests = [at for at, row in enumerate(self._messages) if is_request_row(row)]
