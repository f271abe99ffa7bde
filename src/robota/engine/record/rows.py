"""The rows of one task: said, asked, streamed, logged and shown."""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import msgspec

from robota.engine.record.journal import EventBus, Journal
from robota.log.kinds.calls import ToolEndRecord
from robota.log.kinds.conversation import MessageRecord, MessageTextRecord
from robota.protocol.events import Event, MessageCreated, MessageUpdated, PartialMessage, TextDelta
from robota.protocol.message import Message
from robota.protocol.state import AgentStateInfo, StateTracker

if TYPE_CHECKING:
    from robota.log.replay.rows.past_calls import EndedCall
    from robota.log.replay.rows.row_pages import RowPages

# A streaming row is written to the log at most this often: a crash loses no more than that of an answer.
SNAPSHOT_SECONDS: Final = 0.5


# So many rows a client is told at once; it asks for older ones.
STATE_ROWS: Final = 300


class Rows:
    """The one owner of a task's messages. Log first, then show."""

    def __init__(
        self,
        task_id: str,
        journal: Journal,
        bus: EventBus,
        messages: Sequence[Message] = (),
        older: "RowPages | None" = None,
        known_calls: "Sequence[EndedCall]" = (),
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`older` are rows before `messages` that only the log has; `known_calls` are those of `messages`.

        `clock` gives seconds; it decides when a streaming row is written to the log again.
        """
        self.older = older
        self.known_calls = known_calls
        self.call_ends: list[ToolEndRecord] = []  # since then
        self._call_rows: dict[str, int] = {}  # the last row of each call that has not ended
        ended = {each.record.call_id: each.after for each in known_calls}
        for row in messages:
            if row.call_id is not None and row.ts > ended.get(row.call_id, 0):
                self._call_rows[row.call_id] = row.ts
        self.task_id = task_id
        self._clock = clock
        self._journal = journal
        self._bus = bus
        self._tracker = StateTracker(messages)
        self._open: dict[int, StreamingRow] = {}

    @property
    def messages(self) -> Sequence[Message]:
        return self._tracker.messages

    def newest(self, most: int = STATE_ROWS) -> tuple[Message, ...]:
        """The newest rows."""
        return tuple(self.messages[-most:])

    @property
    def count(self) -> int:
        """How many rows there are, those that only the log has included."""
        return len(self.messages) + (self.older.count if self.older is not None else 0)

    @property
    def info(self) -> AgentStateInfo:
        return self._tracker.info

    def say(self, kind: str, text: str | None = None, **fields: Any) -> Message:
        return self._create(Message(ts=self._journal.next_ts(), type="say", say=kind, text=text, **fields))

    def ask(self, kind: str, text: str | None = None, **fields: Any) -> Message:
        return self._create(Message(ts=self._journal.next_ts(), type="ask", ask=kind, text=text, **fields))

    def change(self, message: Message, **fields: Any) -> Message:
        """Replace a row by one that differs in these fields."""
        return self._put(msgspec.structs.replace(message, **fields))

    def stream(self, kind: str, **fields: Any) -> "StreamingRow":
        """A row whose text is still coming. It appears with its first text."""
        return StreamingRow(self, kind, fields)

    def end_call(self, record: ToolEndRecord) -> None:
        """A call has ended: clients that come later are shown it among the rows."""
        row, after = self._call_rows.pop(record.call_id, 0), self.messages[-1].ts if self.messages else 0
        record = msgspec.structs.replace(record, row=row, after=after)
        self._journal.write(record)
        if after:
            self.call_ends.append(record)

    def flush(self) -> None:
        """Bring the stored text of streaming rows up to date, for a client that joins now."""
        for row in self._open.values():
            self._tracker.updated(row.snapshot())

    def interrupt(self) -> None:
        """Close every row that still streams; what came is kept and marked."""
        for row in list(self._open.values()):
            row.finish(interrupted=True)

    def _create(self, message: Message) -> Message:
        is_clean = self._journal.write(MessageRecord(task_id=self.task_id, message=message))
        self._tracker.created(message)
        if message.call_id is not None:
            self._call_rows[message.call_id] = message.ts
        self._bus.emit(MessageCreated(task_id=self.task_id, message=message), is_clean=is_clean)
        return message

    def _put(self, message: Message) -> Message:
        is_clean = self._journal.write(MessageRecord(task_id=self.task_id, message=message))
        self._tracker.updated(message)
        self._bus.emit(MessageUpdated(task_id=self.task_id, message=message), is_clean=is_clean)
        return message


class StreamingRow:
    """A row that grows. Deltas go to the clients at once and to the log now and then.

    What could still become a secret is held back from both, so the row can be shorter there than `text`.
    """

    def __init__(self, rows: Rows, kind: str, fields: dict[str, Any]) -> None:
        self._rows = rows
        self._kind = kind
        self._fields = fields
        self._pieces: list[str] = []
        self._unsaved: list[str] = []
        self._covered = rows._bus.stream_redactor()
        self._message: Message | None = None
        self._saved_at = 0.0
        self._delta: Callable[..., Event] = TextDelta if kind == "text" else PartialMessage

    @property
    def text(self) -> str:
        """All that came, as it came."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def append(self, delta: str) -> None:
        if not delta:
            return
        self._pieces.append(delta)
        shown = self._covered.feed_text(delta)
        if not shown:
            return
        if self._message is None:
            self._appear()
            return
        self._send(shown)
        now = self._rows._clock()
        if now - self._saved_at > SNAPSHOT_SECONDS:
            self._saved_at = now
            self._save()

    def snapshot(self) -> Message:
        """The row as far as it can be shown."""
        assert self._message is not None
        return msgspec.structs.replace(self._message, text=self._decided_text())

    def finish(self, **fields: Any) -> Message | None:
        """The row is complete. A row that never got text never was."""
        held = self._covered.finish().decode()
        if self._message is None and self._pieces:
            self._appear()  # with what was held back
        elif held:
            self._send(held)
        if self._message is None or self._rows._open.pop(self._message.ts, None) is None:
            return self._message
        self._message = self._rows.change(self.snapshot(), partial=False, **fields)
        return self._message

    def _appear(self) -> None:
        self._message = self._rows.say(self._kind, self._decided_text(), partial=True, **self._fields)
        self._rows._open[self._message.ts] = self
        self._saved_at = self._rows._clock()

    def _save(self) -> None:
        """Log what was added since the last time: the whole text each time would be its square."""
        assert self._message is not None
        added = "".join(self._unsaved)
        self._unsaved.clear()
        self._rows._journal.write(MessageTextRecord(task_id=self._rows.task_id, ts=self._message.ts, added=added))

    def _send(self, delta: str) -> None:
        assert self._message is not None
        self._unsaved.append(delta)
        self._rows._bus.emit(self._delta(task_id=self._rows.task_id, ts=self._message.ts, delta=delta))

    def _decided_text(self) -> str:
        return self.text[: len(self.text) - self._covered.held]
