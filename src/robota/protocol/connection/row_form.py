"""Events for clients that know only whole rows: `state` for a new row, `messageUpdated` for a changed one."""

from collections.abc import Iterator
from typing import Final

import msgspec

from robota.protocol.events import (
    Event,
    MessageCreated,
    MessageUpdated,
    PartialMessage,
    QueuedMessagesUpdated,
    SessionState,
    State,
    TaskModeSwitched,
    TextDelta,
    TodosUpdated,
    ToolCallDelta,
)
from robota.protocol.message import Message

# As many as a `state` of the engine has.
MAX_ROWS: Final = 300


class RowForm:
    """Follows the events of a subscription and puts them into the form `rows`.

    Deltas are collected: `changed` returns the rows that have grown since the last call.
    """

    def __init__(self) -> None:
        self._state: SessionState | None = None
        self._rows: dict[int, Message] = {}
        self._grown: dict[int, int] = {}  # ts → seq of the newest delta
        self._older = 0

    def of(self, event: Event) -> Iterator[Event]:
        """The JSON that is sent for an event."""
        if not isinstance(event, TextDelta | PartialMessage | ToolCallDelta):
            yield from self.changed()
        match event:
            case State():
                self._begin(event.state)
                yield event
            case MessageCreated() if self._is_shown(event.task_id):
                self._rows[event.message.ts] = event.message
                yield self._whole(event.seq)
            case MessageUpdated() if self._is_shown(event.task_id):
                self._rows[event.message.ts] = event.message
                yield self._row(event.message, event.seq)
            case TextDelta() | PartialMessage():
                self._append(event)
            case ToolCallDelta():
                pass
            case _:
                self._note(event)
                yield event

    def changed(self) -> Iterator[Event]:
        """The rows that have grown."""
        grown, self._grown = self._grown, {}
        for ts, seq in grown.items():
            yield self._row(self._rows[ts], seq)

    @property
    def has_changed(self) -> bool:
        """Whether a row has grown."""
        return bool(self._grown)

    def _begin(self, state: SessionState) -> None:
        self._state = state
        self._rows = {row.ts: row for row in state.cline_messages}
        self._grown.clear()
        self._older = state.older_rows

    def _is_shown(self, task_id: str) -> bool:
        return self._state is not None and self._state.current_task_id in (None, task_id)

    def _append(self, event: TextDelta | PartialMessage) -> None:
        row = self._rows.get(event.ts)
        if row is not None:
            self._rows[event.ts] = msgspec.structs.replace(row, text=(row.text or "") + event.delta)
            self._grown[event.ts] = event.seq

    def _row(self, message: Message, seq: int) -> MessageUpdated:
        assert self._state is not None
        # Some clients know the row by this name.
        named = {"clineMessage": msgspec.to_builtins(message)}
        return MessageUpdated(seq=seq, task_id=self._state.current_task_id or "", message=message, extra=named)

    def _whole(self, seq: int) -> State:
        assert self._state is not None
        for ts in list(self._rows)[:-MAX_ROWS]:
            del self._rows[ts]
            self._older += 1
        state = msgspec.structs.replace(
            self._state, cline_messages=tuple(self._rows.values()), older_rows=self._older, calls=()
        )
        return State(seq=seq, state=state)

    def _note(self, event: Event) -> None:
        """Keep what else the next `state` has to say."""
        if self._state is None:
            return
        match event:
            case TaskModeSwitched() if self._is_shown(event.task_id):
                self._state = msgspec.structs.replace(self._state, mode=event.mode)
            case QueuedMessagesUpdated() if self._is_shown(event.task_id):
                self._state = msgspec.structs.replace(self._state, message_queue=event.queue)
            case TodosUpdated() if self._is_shown(event.task_id):
                self._state = msgspec.structs.replace(self._state, todos=event.todos)
            case _:
                pass
