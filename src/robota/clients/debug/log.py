"""Write a JSON line for each event: its name, the state of the agent after it, and what a client would show."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, TextIO

import msgspec

from robota.protocol.connection.message_processor import MessageProcessor
from robota.protocol.events import (
    Event,
    MessageCreated,
    MessageUpdated,
    PartialMessage,
    State,
    TaskEvent,
    TextDelta,
    Thinking,
    ToolCallDelta,
)
from robota.protocol.message import Message
from robota.protocol.port import SessionPort

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
        self._processor = MessageProcessor()

    def of(self, event: Event) -> Iterator[dict[str, Any]]:
        """The event, followed by what a client derives from it: `stateChange`, `waitingForInput` …."""
        if isinstance(event, PIECES):
            return
        store = self._processor.store
        before = store.agent_state
        told = tuple(self._processor.process(event))
        after, messages = store.agent_state, store.messages
        described: dict[str, Any] = {"event": event.__struct_config__.tag}
        if isinstance(event, TaskEvent):
            described["taskId"] = event.task_id
        if isinstance(event, State | MessageCreated | MessageUpdated):
            described |= {
                "messageCount": len(messages),
                "lastMessage": _kind(messages[-1]) if messages else None,
                "stateTransition": f"{before.state} → {after.state}",
                "currentAsk": after.current_ask,
                "isWaitingForInput": after.is_waiting_for_input,
            }
        yield described
        yield from (msgspec.to_builtins(each) for each in told)


def _kind(message: Message) -> str:
    return f"{message.type}:{message.ask or message.say}"
