"""`RemoteSession`: a session in another process, as its clients know it."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import count
from typing import Any, Final

import msgspec

from robota.protocol.codec import ProtocolError, decode_event, encode
from robota.protocol.commands import Receipt, Refused
from robota.protocol.connection.lines import (
    PROTOCOL,
    ClientHello,
    EventForm,
    LineProblem,
    Request,
    ServerHello,
    line_in,
)
from robota.protocol.events import Event
from robota.transport.lines import read_lines

# No more events are taken from the stream while this many are waiting to be read.
MAX_UNREAD: Final = 20_000
RECEIPT_MARK: Final = b'{"receipt":'
LOST: Final = Refused(
    code="connection_lost",
    message="The connection to the session was lost. It is not known whether the command was carried out.",
)


class NotConnected(ConnectionError):
    """The session cannot be reached; the message says why."""


class Unreachable(NotConnected):
    """The session runs, but refuses this process or does not answer; the message says why."""


class RemoteSession:
    """A `SessionPort` over a stream. One connection is one subscription, so `events` may be called once."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Wrap a stream; `greet` must be called first."""
        self._lines = read_lines(reader)
        self._writer = writer
        self._numbers = count(1)
        self._receipts: dict[str, asyncio.Future[Receipt]] = {}
        self._events: deque[Event] = deque()
        self._changed = asyncio.Event()  # an event came, or the stream ended
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_over = False
        self._reading: asyncio.Task[None] | None = None
        self.problem: str | None = None

    async def greet(self, client: str, events: EventForm = EventForm.DELTAS) -> ServerHello:
        """Exchange versions and begin to follow the session. Raises `NotConnected`."""
        self._write(encode(ClientHello(protocol=PROTOCOL, client=client, events=events)))
        first = await anext(self._lines, None)
        greeting = line_in(first) if isinstance(first, bytes) else first
        if isinstance(greeting, LineProblem):
            raise Unreachable(greeting.message)
        if greeting is None:
            raise NotConnected("The session closed the connection, or this is not a session.")
        if greeting.protocol != PROTOCOL:
            raise NotConnected(
                f"The session is run by robota {greeting.version}, which speaks version {greeting.protocol} of the "
                f"protocol; this robota speaks version {PROTOCOL}. Use the same robota for both."
            )
        self._reading = asyncio.create_task(self._read())
        return greeting

    async def submit(self, command: Request) -> Receipt:
        """Submit a command, or another request of the connection. If the connection is lost, the receipt says so."""
        if self._is_over:
            return msgspec.structs.replace(LOST, request_id=command.request_id)
        own_id = f"r{next(self._numbers)}"
        answer = self._receipts[own_id] = asyncio.get_running_loop().create_future()
        self._write(encode(msgspec.structs.replace(command, request_id=own_id)))
        with suppress(OSError):
            await self._writer.drain()
        receipt: Receipt = msgspec.structs.replace(await answer, request_id=command.request_id)
        return receipt

    async def events(self) -> AsyncIterator[Event]:
        """The events, from the `state` on, until the connection ends."""
        while True:
            while self._events:
                yield self._events.popleft()
                self._has_room.set()
            if self._is_over:
                return
            self._changed.clear()
            await self._changed.wait()

    @property
    def has_ended(self) -> bool:
        """Whether the connection is gone."""
        return self._is_over

    async def close(self) -> None:
        """Leave the session; it continues without this client."""
        if self._reading is not None:
            self._reading.cancel()
        self._mark_as_over()
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _read(self) -> None:
        try:
            async for line in self._lines:
                if isinstance(line, LineProblem):
                    self.problem = line.message
                    continue
                self._take(line)
                if len(self._events) > MAX_UNREAD:
                    self._has_room.clear()
                    await self._has_room.wait()
        except (OSError, ProtocolError, msgspec.DecodeError) as error:
            self.problem = f"The connection ended: {error}."
        finally:
            self._mark_as_over()

    def _take(self, line: bytes) -> None:
        if line.startswith(RECEIPT_MARK):
            self._settle(msgspec.json.decode(line, type=Receipt))
            return
        if line.startswith(b'{"type":"error"') and isinstance(problem := line_in(line), LineProblem):
            self.problem = problem.message
            return
        self._events.append(decode_event(line))
        self._changed.set()

    def _settle(self, receipt: Any) -> None:
        waiting = self._receipts.pop(receipt.request_id or "", None)
        if waiting is not None and not waiting.done():
            waiting.set_result(receipt)

    def _mark_as_over(self) -> None:
        self._is_over = True
        for waiting in self._receipts.values():
            if not waiting.done():
                waiting.set_result(LOST)
        self._receipts.clear()
        self._changed.set()

    def _write(self, line: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(line + b"\n")
