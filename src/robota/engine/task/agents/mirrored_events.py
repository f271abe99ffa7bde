"""Shows the events of an agent in another process as if it worked in this one."""

from typing import Final

import msgspec

from robota.engine.record.journal import EventBus, Journal
from robota.protocol.events import (
    ContextUpdate,
    Event,
    MessageCreated,
    MessageUpdated,
    Notice,
    PartialMessage,
    RetryScheduled,
    TaskCompleted,
    TaskCreated,
    TaskEnded,
    TaskEvent,
    TaskSpawned,
    TaskStarted,
    TaskTokenUsageUpdated,
    TaskToolFailed,
    TextDelta,
    Thinking,
    TodosUpdated,
    ToolCallDelta,
    ToolEnd,
    ToolStart,
    TurnReply,
    TurnResults,
)
from robota.protocol.message import Message

SHOWN: Final = (
    *(ContextUpdate, RetryScheduled, TaskTokenUsageUpdated, TaskToolFailed, TodosUpdated, ToolCallDelta, ToolEnd),
    *(Thinking, ToolStart, TurnReply, TurnResults, TaskCompleted),
)
# Of the agent itself they come from this process, which knows it as one of its tasks.
OF_TASKS_BELOW: Final = (TaskCreated, TaskStarted, TaskSpawned, TaskEnded)


class MirroredEvents:
    """Passes on events with numbers for their rows that no row of this session has.

    Asks are left out: they are asked again here, because here is who can answer.
    """

    def __init__(self, task_id: str, bus: EventBus, journal: Journal) -> None:
        """`task_id` is the task of the agent."""
        self._task_id = task_id
        self._bus = bus
        self._journal = journal
        self._numbers: dict[int, int] = {}

    def show(self, event: Event) -> Message | None:
        """Pass on an event, if clients of this session should see it; returns the row that it is about."""
        match event:
            case MessageCreated() | MessageUpdated():
                return self._row(event)
            case TextDelta() | PartialMessage():
                if (number := self._numbers.get(event.ts)) is not None:
                    self._bus.emit(msgspec.structs.replace(event, ts=number))
            case Notice():
                self._bus.emit(event)
            case TaskEvent() if isinstance(event, SHOWN):
                self._bus.emit(event)
            case TaskEvent() if isinstance(event, OF_TASKS_BELOW) and event.task_id != self._task_id:
                self._bus.emit(event)
        return None

    def _row(self, event: MessageCreated | MessageUpdated) -> Message | None:
        row = event.message
        if row.type == "ask":
            return None
        number = self._numbers.get(row.ts)
        if number is None:
            number = self._numbers[row.ts] = self._journal.next_ts()
        row = msgspec.structs.replace(row, ts=number)
        self._bus.emit(msgspec.structs.replace(event, message=row))
        return row if event.task_id == self._task_id else None
