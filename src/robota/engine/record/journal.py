"""Where everything that happens in a session goes: first to the log (`Journal`), then to clients (`EventBus`)."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final, Protocol
from weakref import ref

import msgspec

from robota.log.chain.writer import Appended
from robota.log.errors import LogWriteError
from robota.log.kinds.requests import RequestRecord
from robota.log.record import Payload
from robota.protocol.codec import decode_event, encode
from robota.protocol.events import Event, Notice, PartialMessage, SubscriptionEnded, TextDelta
from robota.providers.chunks import ToolSpec
from robota.secrets.redaction import Redactor, StreamRedactor
from robota.text.visible import with_whole_characters

# Unread deltas of one row are joined up to this length, so that a slow client costs little.
MAX_JOINED_DELTA: Final = 4096
# A client that leaves more than this unread has stopped reading, and is cut off.
MAX_UNREAD_EVENTS: Final = 20_000
MAX_UNREAD_BYTES: Final = 32 * 1024 * 1024
# Events are measured only for a client that is this far behind; for all others that would be wasted time.
UNMEASURED_EVENTS: Final = 256
CUT_OFF: Final = (
    "This client stopped reading, and too many events were waiting for it. The session continues; subscribe again to "
    "follow it."
)


class Subscription(AsyncIterator[Event]):
    """The events for one client, in order. Unread deltas of one row are joined, and nothing is dropped.

    A client that stops reading is cut off: what it has not read is dropped, and `SubscriptionEnded` is its last event.
    """

    def __init__(self, *opening: Event) -> None:
        self._unread: deque[tuple[Event, int]] = deque((event, 0) for event in opening)  # with their sizes
        self.unread_bytes = 0  # as far as they were measured
        self._ready = asyncio.Event()
        self._ready.set()
        self._closed = False

    def push(self, event: Event) -> None:
        if self._closed:
            return
        unread = self._unread
        joined = _joined_deltas(unread[-1][0], event) if unread else None
        size = _size(event) if len(unread) >= UNMEASURED_EVENTS else 0
        self.unread_bytes += size
        if joined is None:
            unread.append((event, size))
        else:
            unread[-1] = (joined, unread[-1][1] + size)
        if len(unread) > MAX_UNREAD_EVENTS or self.unread_bytes > MAX_UNREAD_BYTES:
            self._cut_off(event.seq)
        self._ready.set()

    def close(self) -> None:
        """No more events after those that are queued."""
        self._closed = True
        self._ready.set()

    async def aclose(self) -> None:
        """Drop unread events and collect no more, because the client has gone."""
        self.close()
        self._drop_unread()

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more events."""
        return self._closed

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Event:
        while not self._unread:
            if self._closed:
                raise StopAsyncIteration
            self._ready.clear()
            await self._ready.wait()
        event, size = self._unread.popleft()
        self.unread_bytes -= size
        return event

    def _cut_off(self, seq: int) -> None:
        last = SubscriptionEnded(seq=seq, unread=len(self._unread), reason=CUT_OFF)
        self._drop_unread()
        self._unread.append((last, 0))
        self.close()

    def _drop_unread(self) -> None:
        self._unread.clear()
        self.unread_bytes = 0


class EventBus:
    """Numbers the events of a session and sends them to all subscriptions, with secrets masked.

    Deltas are sent unchanged: a secret split over several deltas must be masked by the sender, with `stream_redactor`.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._subscriptions: list[ref[Subscription]] = []
        self._seq = 0
        self.redactor = redactor

    def stream_redactor(self) -> StreamRedactor:
        """A redactor for the deltas of one text."""
        return self.redactor.stream()

    def subscribe(self, *opening: Event) -> Subscription:
        """A subscription that starts with the `opening` events and continues with new ones."""
        numbered = (msgspec.structs.replace(event, seq=self._seq) for event in opening)
        subscription = Subscription(*map(self._covered, numbered))
        self._subscriptions.append(ref(subscription))
        return subscription

    def emit(self, event: Event, *, is_clean: bool = False) -> None:
        """Send an event to every client. With `is_clean` it is known to hold no secret and is not searched."""
        self._seq += 1
        subscriptions = self._listening()
        if not subscriptions:
            return
        event = msgspec.structs.replace(event, seq=self._seq)
        if not is_clean and not isinstance(event, TextDelta | PartialMessage):
            event = self._covered(event)
        for subscription in subscriptions:
            subscription.push(event)

    def close(self) -> None:
        """End every subscription after its queued events."""
        for subscription in self._listening():
            subscription.close()
        self._subscriptions.clear()

    def _listening(self) -> list[Subscription]:
        """The live subscriptions. A client that dropped its iterator counts as gone."""
        listening = [
            subscription
            for reference in self._subscriptions
            if (subscription := reference()) is not None and not subscription.is_closed
        ]
        if len(listening) < len(self._subscriptions):
            self._subscriptions = [ref(subscription) for subscription in listening]
        return listening

    def _covered(self, event: Event) -> Event:
        line = _line(event)
        covered = self.redactor(line)
        return event if covered is line else decode_event(covered)


class LogPort(Protocol):
    """The part of a session log that the engine uses."""

    @property
    def redactor(self) -> Redactor: ...

    @property
    def path(self) -> Path: ...

    def append(self, payload: Payload) -> Appended: ...

    def next_ts(self) -> int: ...

    async def sync(self) -> None: ...

    def sync_soon(self) -> None: ...

    def take_warning(self) -> str | None: ...

    def keep_for_model(self, data: bytes) -> str: ...

    def keep_text(self, text: str) -> str: ...

    async def keep_file(self, path: Path) -> str: ...

    def find_artifact(self, name: str) -> Path: ...

    def short_name(self, name: str) -> str: ...


class Journal:
    """Writes to the log. If the log cannot be written, the conversation continues, but tools must not change anything.

    `trouble` stays set after the first failure: a later success would leave an invisible gap.
    """

    def __init__(self, log: LogPort, bus: EventBus) -> None:
        self._log = log
        self._bus = bus
        self.trouble: str | None = None

    @property
    def path(self) -> Path:
        """The path of the log."""
        return self._log.path

    def write(self, payload: Payload) -> Appended | None:
        """Write a record; None if the log cannot be written."""
        if self.trouble is not None:
            return None
        try:
            return self._log.append(payload)
        except LogWriteError as error:
            self._fail(error)
            return None

    def is_clean(self, written: Appended | None) -> bool:
        """Whether the written record is known to hold no secret."""
        return written is not None and written.is_clean and self._log.redactor is self._bus.redactor

    async def sync(self) -> None:
        """Return when everything written is on disk."""
        if self.trouble is not None:
            return
        try:
            await self._log.sync()
        except LogWriteError as error:
            self._fail(error)
        self._emit_warning()

    def sync_soon(self) -> None:
        """Start a sync and do not wait."""
        if self.trouble is None:
            self._log.sync_soon()
        self._emit_warning()

    def keep(self, data: bytes) -> str | None:
        """Store an artifact; returns its short name, or None if that is not possible."""
        try:
            return self._log.keep_for_model(data)
        except LogWriteError as error:
            self._fail(error)
            return None

    def write_request(
        self,
        task_id: str,
        model: str,
        system: str,
        tools: Sequence[ToolSpec],
        *,
        model_room: tuple[int, int],
        condense_at: int | None,
    ) -> None:
        """Record the model, system prompt and tools of the task's requests from here on; equal texts are stored once.

        `model_room` is the context window, and the part of it that is left for input.
        """
        if self.trouble is not None:
            return
        try:
            record = RequestRecord(
                task_id=task_id,
                model=model,
                system=self._log.keep_text(system),
                tools=self._log.keep_text(msgspec.json.encode(tools).decode("utf-8", "replace")),
                context_window=model_room[0],
                input_room=model_room[1],
                condense_at=condense_at,
            )
            self._log.append(record)
        except LogWriteError as error:
            self._fail(error)

    async def keep_file(self, path: Path) -> str | None:
        """Move a file to the artifacts; returns its short name, or None if that is not possible."""
        try:
            return self._log.short_name(await self._log.keep_file(path))
        except LogWriteError as error:
            self._fail(error)
            return None

    def kept(self, name: str) -> Path:
        """The path of the artifact with that name or short name; raises `ArtifactMissing`."""
        return self._log.find_artifact(name)

    def next_ts(self) -> int:
        return self._log.next_ts()

    @property
    def warning(self) -> tuple[Notice, ...]:
        """The warning for clients that subscribe after the log failed; usually empty."""
        if self.trouble is None:
            return ()
        text = (
            f"The session log cannot be written: {self.trouble} What was logged so far is intact. Tools that change "
            "something are refused from now on; free some disk space and start again."
        )
        return (Notice(level="warning", text=text),)

    def _emit_warning(self) -> None:
        warning = self._log.take_warning()
        if warning is not None:
            self._bus.emit(Notice(level="warning", text=warning))

    def _fail(self, error: LogWriteError) -> None:
        self.trouble = str(error)
        for notice in self.warning:
            self._bus.emit(notice)


class JournalElsewhere(Journal):
    """The journal of a task in another process, which writes the log at `path` itself. Artifacts are kept here."""

    def __init__(self, log: LogPort, bus: EventBus, path: Path) -> None:
        super().__init__(log, bus)
        self._path = path

    @property
    def path(self) -> Path:
        return self._path

    def write(self, payload: Payload) -> Appended | None:
        """The other process does."""
        return None


def _joined_deltas(last: Event, new: Event) -> Event | None:
    """The two events joined, if they are short deltas of the same row; else None."""
    if not isinstance(new, TextDelta | PartialMessage) or type(last) is not type(new):
        return None
    assert isinstance(last, TextDelta | PartialMessage)
    if last.ts != new.ts or len(last.delta) > MAX_JOINED_DELTA:
        return None
    return type(new)(seq=new.seq, task_id=new.task_id, ts=new.ts, delta=last.delta + new.delta)


def _size(event: Event) -> int:
    """About how much memory an unread event takes."""
    return len(event.delta) if isinstance(event, TextDelta | PartialMessage) else len(_line(event))


def _line(event: Event) -> bytes:
    try:
        return encode(event)
    except UnicodeEncodeError:
        return msgspec.json.encode(with_whole_characters(msgspec.to_builtins(event)))
