"""Write a JSON line for each event: its name, the state of the agent after it, and what a client would show."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, TextIO

import msgspec

from robota.protocol.events import (
    Event,
    MessageCreated,
    MessageUpdated,
    PartialMessage,
    State,
    TaskCompleted,
    TaskEvent,
    TaskModeSwitched,
    TextDelta,
    Thinking,
    ToolCallDelta,
)
from robota.protocol.message import Message
from robota.protocol.port import SessionPort
from robota.protocol.state import StateTracker

# Pieces of one row: the row itself follows.
PIECES: Final = (TextDelta, PartialMessage, ToolCallDelta, Thinking)


async def write_debug_log(session: SessionPort, file: TextIO, now: Callable[[], str]) -> None:
    """Write the lines of a session until it closes."""
    described = EventDescriptions()
    async for event in session.events():
        for line in described.of(event):
            file.write(json.dumps({"at": now(), **line}, ensure_ascii=False) + "\n")


class EventDescriptions:
    """Tracks the rows as a client does, so that each event can be described with the resulting state.

    Texts are left out: they are in the session's log, and debug logs are likely to be shared.
    """

    def __init__(self) -> None:
        self._tracker = StateTracker()

    def of(self, event: Event) -> Iterator[dict[str, Any]]:
        """The event, then derived events: `stateChange`, `waitingForInput`, `modeChanged`, `taskCompleted`."""
        if isinstance(event, PIECES):
            return
        before = self._tracker.info
        described: dict[str, Any] = {"event": event.__struct_config__.tag}
        if isinstance(event, TaskEvent):
            described["taskId"] = event.task_id
        row = self._follow(event)
        after = self._tracker.info
        if row is not None or isinstance(event, State):
            described |= {
                "messageCount": len(self._tracker.messages),
                "lastMessage": _kind(self._tracker.messages[-1]) if self._tracker.messages else None,
                "stateTransition": f"{before.state} → {after.state}",
                "currentAsk": after.current_ask,
                "isWaitingForInput": after.is_waiting_for_input,
            }
        yield described
        if after.state is not before.state:
            yield {"emit": "stateChange", "previousState": before.state, "state": after.state}
        if after.is_waiting_for_input and after.current_ask not in (None, before.current_ask):
            yield {"emit": "waitingForInput", "ask": after.current_ask, "requiredAction": after.required_action}
        if isinstance(event, TaskModeSwitched):
            yield {"emit": "modeChanged", "previousMode": event.previous_mode, "currentMode": event.mode}
        if isinstance(event, TaskCompleted):
            yield {"emit": "taskCompleted", "success": True, "tokenUsage": msgspec.to_builtins(event.token_usage)}

    def _follow(self, event: Event) -> Message | None:
        match event:
            case State():
                self._tracker.replace(event.state.cline_messages)
            case MessageCreated():
                self._tracker.created(event.message)
                return event.message
            case MessageUpdated():
                self._tracker.updated(event.message)
                return event.message
            case _:
                pass
        return None


def _kind(message: Message) -> str:
    return f"{message.type}:{message.ask or message.say}"
