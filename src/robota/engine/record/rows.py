"""The rows of one task: first logged, then shown. Old ones are dropped from memory, because the log has them."""

import asyncio
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import msgspec

from robota.engine.record.journal import EventBus, Journal
from robota.log.chain.reader import LineSpan
from robota.log.chain.writer import Appended
from robota.log.kinds.calls import ToolEndRecord
from robota.log.kinds.conversation import MessageRecord, MessageTextRecord
from robota.protocol.events import Event, MessageCreated, MessageUpdated, PartialMessage, TextDelta
from robota.protocol.message import Message
from robota.protocol.state import AgentStateInfo, StateTracker, is_request_row
from robota.protocol.views import DiffsView, DiffView, TerminalView, TextView, View

if TYPE_CHECKING:
    from robota.log.replay.rows.past_calls import EndedCall
    from robota.log.replay.rows.row_pages import RowPages
    from robota.log.replay.task import TaskFold

# A streaming row is written to the log this often, so a crash loses at most this much of a reply.
SNAPSHOT_SECONDS: Final = 0.5

# How many rows a client gets with the state; it requests older ones. At least as many are held in memory.
STATE_ROWS: Final = 300
# Rows are released in groups of this size.
ROWS_IN_PAGE: Final = 100
# What the log keeps of the view of a call.
LOGGED_TEXT_CHARACTERS: Final = 2_000
LOGGED_VIEW_CHARACTERS: Final = 32_000


def _later(seconds: float, call: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_later(seconds, call)


class Rows:
    """The one owner of a task's messages. Log first, then show."""

    def __init__(
        self,
        task_id: str,
        journal: Journal,
        bus: EventBus,
        replayed: "TaskFold | None" = None,
        *,
        clock: Callable[[], float] = monotonic,
        later: Callable[[float, Callable[[], None]], object] = _later,
    ) -> None:
        """`replayed` is the task from the log, if it is resumed.

        `clock` returns seconds; it decides when a streaming row is logged again. `later` calls back after seconds.
        """
        messages = () if replayed is None else replayed.messages
        self.older: RowPages | None = None if replayed is None else replayed.older  # rows that only the log has
        self.known_calls: Sequence[EndedCall] = () if replayed is None else replayed.calls
        self.call_ends: list[ToolEndRecord] = []  # after `known_calls`
        self._call_rows: dict[str, list[int]] = {}  # of each call that has not ended
        ended = {each.record.call_id: each.after for each in self.known_calls}
        for row in messages:
            if row.call_id is not None and row.ts > ended.get(row.call_id, 0):
                self._call_rows.setdefault(row.call_id, []).append(row.ts)
        self._pages: list[HeldPage] = []
        if replayed is not None and messages:
            self._pages.append(HeldPage(messages[0].ts, messages[-1].ts, len(messages), replayed.lines))
        self.task_id = task_id
        self._clock = clock
        self._later = later
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
    def newest_ts(self) -> int:
        """The timestamp of the newest row; 0 without rows."""
        return self.messages[-1].ts if self.messages else 0

    @property
    def count(self) -> int:
        """The number of rows, including those that only the log has."""
        return len(self.messages) + (self.older.count if self.older is not None else 0)

    @property
    def info(self) -> AgentStateInfo:
        return self._tracker.info

    def say(self, kind: str, text: str | None = None, **fields: Any) -> Message:
        return self._create(Message(ts=self._journal.next_ts(), type="say", say=kind, text=text, **fields))

    def ask(self, kind: str, text: str | None = None, **fields: Any) -> Message:
        return self._create(Message(ts=self._journal.next_ts(), type="ask", ask=kind, text=text, **fields))

    def change(self, message: Message, **fields: Any) -> Message:
        """Change these fields of a row."""
        return self._write_row(msgspec.structs.replace(message, **fields))

    def take(self, row: Message) -> None:
        """Hold a row, or its new state, that another process has logged and that clients have been shown."""
        self._tracker.updated(row)

    def stream(self, kind: str, **fields: Any) -> "StreamingRow":
        """A row whose text is streamed. It appears with its first text."""
        return StreamingRow(self, kind, fields)

    def end_call(self, record: ToolEndRecord) -> None:
        """Record the end of a call, so that later clients can show it among the rows."""
        rows, after = self._call_rows.pop(record.call_id, []), self.messages[-1].ts if self.messages else 0
        record = msgspec.structs.replace(record, row=rows[-1] if rows else 0, after=after)
        written = self._journal.write(record)
        if after:
            self.call_ends.append(record)
            for ts in rows or [after]:
                self._note_lines(ts, written)

    def flush(self) -> None:
        """Update the stored text of streaming rows, for a client that subscribes now."""
        for row in self._open.values():
            self._tracker.updated(row.snapshot())

    def interrupt(self) -> None:
        """Finish every streaming row and mark it as interrupted."""
        for row in list(self._open.values()):
            row.finish(interrupted=True)

    def _create(self, message: Message) -> Message:
        written = self._journal.write(MessageRecord(task_id=self.task_id, message=message))
        self._tracker.created(message)
        if message.call_id is not None:
            self._call_rows.setdefault(message.call_id, []).append(message.ts)
        self._bus.emit(MessageCreated(task_id=self.task_id, message=message), is_clean=self._journal.is_clean(written))
        self._add_to_page(message, written)
        return message

    def _write_row(self, message: Message) -> Message:
        written = self._journal.write(MessageRecord(task_id=self.task_id, message=message))
        self._tracker.updated(message)
        self._note_lines(message.ts, written)
        self._bus.emit(MessageUpdated(task_id=self.task_id, message=message), is_clean=self._journal.is_clean(written))
        return message

    def _add_to_page(self, row: Message, written: Appended | None) -> None:
        if written is None:
            return  # a row that the log does not have; from now on no rows are released
        newest = self._pages[-1] if self._pages else None
        if newest is None or newest.count >= ROWS_IN_PAGE:
            self._pages.append(HeldPage(row.ts, row.ts, 1, written.lines))
            self._let_go()
        else:
            newest.last_ts = row.ts
            newest.count += 1
            newest.add(written.lines)

    def _note_lines(self, ts: int, written: Appended | None) -> None:
        """A later line of the log updates a row in memory."""
        page = next((page for page in reversed(self._pages) if page.first_ts <= ts), None)
        if page is not None and written is not None:
            page.add(written.lines)

    def _let_go(self) -> None:
        """Release older rows than a client gets at once, except those of the newest request and of running calls."""
        newest = self.messages[-1].ts
        request = next((row.ts for row in reversed(self.messages) if is_request_row(row)), newest)
        first_needed = min((request, *(rows[0] for rows in self._call_rows.values()), *self._open))
        count = gone = 0
        for page in self._pages:
            if page.last_ts >= first_needed or len(self.messages) - count - page.count < STATE_ROWS:
                break
            count, gone = count + page.count, gone + 1
        if not gone or self._journal.trouble is not None:
            return
        # Only long tasks need it.
        from robota.log.replay.rows.row_pages import RowPage, RowPages

        pages = [RowPage(page.first_ts, page.last_ts, page.count, page.lines) for page in self._pages[:gone]]
        older = self.older or RowPages()
        self.older = msgspec.structs.replace(older, pages=(*older.pages, *pages))
        del self._pages[:gone]
        self._tracker.replace(self.messages[count:])
        last = pages[-1].last_ts
        self.known_calls = [each for each in self.known_calls if each.row_ts > last]
        self.call_ends = [each for each in self.call_ends if (each.row or each.after) > last]


class HeldPage:
    """Consecutive rows that are held in memory, and the `lines` of the log that contain them."""

    __slots__ = ("count", "first_ts", "last_ts", "lines")

    def __init__(self, first_ts: int, last_ts: int, count: int, lines: LineSpan) -> None:
        self.first_ts = first_ts
        self.last_ts = last_ts
        self.count = count
        self.lines = lines

    def add(self, lines: LineSpan) -> None:
        """Note that these lines contain one of the rows, too."""
        self.lines = LineSpan(self.lines.start, lines.end)


class StreamingRow:
    """A row whose text is streamed. Deltas go to clients at once and to the log at intervals.

    Text that could be the start of a secret is held back from both, so they may have less than `text`.
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
        self._is_save_due = False
        self._delta: Callable[..., Event] = TextDelta if kind == "text" else PartialMessage

    @property
    def text(self) -> str:
        """All text received so far, unmasked."""
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
        elif not self._is_save_due:
            # A command may print something and then nothing for an hour.
            self._is_save_due = True
            self._rows._later(SNAPSHOT_SECONDS, self._save_rest)

    def snapshot(self) -> Message:
        """The row as far as it can be shown now."""
        assert self._message is not None
        return msgspec.structs.replace(self._message, text=self._decided_text())

    def finish(self, **fields: Any) -> Message | None:
        """Finish the row. A row that never got text is never created."""
        held = self._covered.finish().decode()
        if self._message is None and self._pieces:
            self._appear()  # with what was held back
        elif held:
            self._send(held)
        if self._message is None or self._rows._open.pop(self._message.ts, None) is None:
            return self._message
        self._message = self._rows.change(self.snapshot(), partial=False, **fields)
        self._unsaved.clear()
        return self._message

    def _appear(self) -> None:
        self._message = self._rows.say(self._kind, self._decided_text(), partial=True, **self._fields)
        self._rows._open[self._message.ts] = self
        self._saved_at = self._rows._clock()

    def _save_rest(self) -> None:
        self._is_save_due = False
        if self._unsaved:
            self._saved_at = self._rows._clock()
            self._save()

    def _save(self) -> None:
        """Log only the text added since the last time, so that the log grows linearly."""
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


def logged_view(view: View | None, in_rows: View | None, output_in_rows: str) -> View | None:
    """The view for the log, without what `log.replay.rows.past_calls` can restore from the rows of the call."""
    match view:
        case DiffView() if view == in_rows:
            return msgspec.structs.replace(view, hunks=())
        case DiffsView() if view == in_rows:
            return DiffsView(files=tuple(msgspec.structs.replace(file, hunks=()) for file in view.files))
        case TerminalView():
            is_in_rows = view.output == output_in_rows
            return msgspec.structs.replace(view, output="" if is_in_rows else view.output[-LOGGED_VIEW_CHARACTERS:])
        case TextView():
            return (
                view
                if len(view.text) <= LOGGED_TEXT_CHARACTERS
                else TextView(text=f"{view.text[:LOGGED_TEXT_CHARACTERS]} …")
            )
        case None:
            return None
        case _:
            return view if len(msgspec.json.encode(view)) <= LOGGED_VIEW_CHARACTERS else None
