"""The session's end of a connection: reads requests, and sends receipts and events."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from enum import Enum
from typing import Final, assert_never

from robota.protocol.asks.answer import Say
from robota.protocol.codec import encode
from robota.protocol.commands import Accepted, AskResponse, Command, QueueMessage, Receipt, Refused
from robota.protocol.connection.lines import (
    PROTOCOL,
    ClientHello,
    EventForm,
    LineProblem,
    Ping,
    Request,
    SendMessage,
    ServerHello,
    Shutdown,
    StopSession,
    WebviewDidLaunch,
    request_in,
)
from robota.protocol.connection.row_form import RowForm
from robota.protocol.events import Event, PartialMessage, SubscriptionEnded, TextDelta
from robota.protocol.port import SessionPort
from robota.transport.lines import event_line, read_lines

# How many requests of one client are carried out at the same time; further ones wait.
MAX_REQUESTS: Final = 64
# Rows that are still growing are sent at this interval.
ROWS_EVERY_S: Final = 0.05
UNSENT_BYTES: Final = 256 * 1024
# How long a client may take to read the remaining lines after its session has ended or it was disconnected.
LAST_LINES_S: Final = 10.0
# The code with which an answer is refused if nothing is asked.
NOTHING_ASKED: Final = "stale_ask"


class ConnectionEnd(Enum):
    """Why a connection ended."""

    INPUT_ENDED = "the client sends nothing more"
    SHUTDOWN = "the client asked for it"
    SESSION_ENDED = "the session has ended, or the client did not read its events"
    REFUSED = "the client speaks another version of the protocol"


class ServedStream:
    """One client of a session, connected over a stream.

    The first line of the client determines the form of events; with `form`, they are sent without waiting for it.
    `on_stop` closes the session for all clients; without it, the client is the only one, and its connection ends.
    `pause_s` says how long to collect deltas before the next ones are sent.
    """

    def __init__(
        self,
        port: SessionPort,
        reader: StreamReader,
        writer: StreamWriter,
        *,
        hello: ServerHello,
        form: EventForm | None = None,
        on_stop: Callable[[], None] | None = None,
        pause_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._port = port
        self._reader = reader
        self._writer = writer
        self._hello = hello
        self._form = form
        self._on_stop = on_stop
        self._pause_s = pause_s
        self._events: asyncio.Task[None] | None = None
        self._requests: set[asyncio.Task[None]] = set()
        self._free = asyncio.Semaphore(MAX_REQUESTS)
        self._events_ended = asyncio.Event()
        self.client = ""

    async def run(self) -> ConnectionEnd:
        """Serve the client until it leaves, or the session ends."""
        self._writer.transport.set_write_buffer_limits(high=UNSENT_BYTES)
        self._send(encode(self._hello))
        if self._form is not None:
            self._begin_events(self._form)
        reading, events = asyncio.create_task(self._read()), asyncio.create_task(self._events_ended.wait())
        try:
            await asyncio.wait({reading, events}, return_when=asyncio.FIRST_COMPLETED)
            return reading.result() if reading.done() else ConnectionEnd.SESSION_ENDED
        finally:
            reading.cancel()
            events.cancel()

    async def until_answered(self) -> None:
        """Return when all requests so far have their receipts."""
        await asyncio.gather(*self._requests)

    async def finish(self) -> None:
        """Send the remaining lines after the session has ended, and close the stream."""
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(LAST_LINES_S):
                await asyncio.gather(*self._requests, *([self._events] if self._events else []))
                await self._writer.drain()
        await self.close()

    async def close(self) -> None:
        """Close the stream now."""
        for task in (*self._requests, *([self._events] if self._events else [])):
            task.cancel()
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _read(self) -> ConnectionEnd:
        with suppress(OSError):
            async for line in read_lines(self._reader):
                request = line if isinstance(line, LineProblem) else request_in(line)
                ending = await self._take(request)
                if ending is not None:
                    return ending
        return ConnectionEnd.INPUT_ENDED

    async def _take(self, request: Request | LineProblem) -> ConnectionEnd | None:
        match request:
            case LineProblem():
                self._send(encode(request))
            case ClientHello():
                return self._greet(request)
            case WebviewDidLaunch():
                self._begin_events(EventForm.ROWS)
                self._acknowledge(request.request_id)
            case Ping():
                self._acknowledge(request.request_id)
            case Shutdown():
                self._acknowledge(request.request_id)
                return ConnectionEnd.SHUTDOWN
            case StopSession():
                self._acknowledge(request.request_id)
                if self._on_stop is None:
                    return ConnectionEnd.SHUTDOWN
                self._on_stop()
            case _:
                await self._carry_out(request)
        await self._drain()
        return None

    def _greet(self, hello: ClientHello) -> ConnectionEnd | None:
        if hello.protocol != PROTOCOL:
            version = f"version {PROTOCOL} of the protocol (robota {self._hello.version})"
            text = f"This session speaks {version}, this client version {hello.protocol}. Use the same robota for both."
            self._send(encode(LineProblem(code="unsupported_protocol", message=text)))
            return ConnectionEnd.REFUSED
        self.client = hello.client
        self._begin_events(hello.events)
        return None

    async def _carry_out(self, request: Command | SendMessage) -> None:
        """Carry out a request concurrently with others, so that a cancellation does not wait for what it cancels."""
        if self._events is None:
            self._begin_events(EventForm.ROWS)
        await self._free.acquire()
        task = asyncio.create_task(self._answer(request))
        self._requests.add(task)
        task.add_done_callback(self._answered)

    def _answered(self, task: "asyncio.Task[None]") -> None:
        self._requests.discard(task)
        self._free.release()

    async def _answer(self, request: Command | SendMessage) -> None:
        receipt = await self._receipt(request)
        self._send(encode(receipt))
        await self._drain()

    async def _receipt(self, request: Command | SendMessage) -> Receipt:
        if not isinstance(request, SendMessage):
            return await self._port.submit(request)
        say = Say(text=request.text, images=request.images)
        receipt = await self._port.submit(AskResponse(answer=say, request_id=request.request_id))
        if isinstance(receipt, Refused) and receipt.code == NOTHING_ASKED:
            queued = QueueMessage(text=request.text, images=request.images, request_id=request.request_id)
            return await self._port.submit(queued)
        return receipt

    def _acknowledge(self, request_id: str | None) -> None:
        self._send(encode(Accepted(request_id=request_id)))

    def _begin_events(self, form: EventForm) -> None:
        """Start sending events, or start again with the current state."""
        if self._events is not None:
            self._events.cancel()
        events = self._port.events()
        match form:
            case EventForm.DELTAS:
                sending = self._send_deltas(events)
            case EventForm.ROWS:
                sending = self._send_rows(events)
            case never:
                assert_never(never)
        self._events = asyncio.create_task(sending)
        self._events.add_done_callback(self._end_events)

    def _end_events(self, sending: "asyncio.Task[None]") -> None:
        if sending is self._events:
            self._events_ended.set()

    async def _send_deltas(self, events: AsyncIterator[Event]) -> None:
        async for event in events:
            self._send(event_line(event))
            await (self._drain() if not isinstance(event, SubscriptionEnded) else self._drain_at_last())
            if isinstance(event, TextDelta | PartialMessage) and (pause_s := self._pause_s()):
                # Deltas that come meanwhile are joined. All clients wait for the same moment, which wakes them at once.
                await asyncio.sleep(pause_s - asyncio.get_running_loop().time() % pause_s)

    async def _send_rows(self, events: AsyncIterator[Event]) -> None:
        rows = RowForm()
        loop, due = asyncio.get_running_loop(), None

        def send_grown() -> None:
            for changed in rows.changed():
                self._send(event_line(changed))

        try:
            async for event in events:
                for each in rows.of(event):
                    self._send(event_line(each))
                if rows.has_changed and (due is None or due.when() <= loop.time()):
                    due = loop.call_later(ROWS_EVERY_S, send_grown)
                await (self._drain() if not isinstance(event, SubscriptionEnded) else self._drain_at_last())
        finally:
            if due is not None:
                due.cancel()

    def _send(self, line: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(line + b"\n")

    async def _drain(self) -> None:
        with suppress(OSError):
            await self._writer.drain()

    async def _drain_at_last(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_LINES_S):
                await self._drain()
