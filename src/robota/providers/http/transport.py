"""HTTP/1.1 for httpx2, directly on asyncio: importing the built-in pool takes longer than a response.

For direct connections only; with a proxy, httpx2 uses its own transport.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from typing import Final, cast

import h11
import httpx2

KEEP_IDLE_S: Final = 5.0
MAX_HEAD_BYTES: Final = 100 * 1024
WRITE_BYTES: Final = 128 * 1024
READ_AHEAD: Final = 256 * 1024
# How long to try one address of a server before trying the next one in parallel.
NEXT_ADDRESS_AFTER_S: Final = 0.25
PORTS: Final = {"http": 80, "https": 443}
Origin = tuple[str, str, int]


class DirectTransport(httpx2.AsyncBaseTransport):
    """Keeps connections that a server leaves open for the next request."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        tls.set_alpn_protocols(["http/1.1"])
        self._idle: list[HttpConnection] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        timeouts: dict[str, float | None] = request.extensions.get("timeout", {})
        origin = _origin(request.url)
        connection = self._kept(origin) or await self._opened(origin, timeouts.get("connect"))
        try:
            await connection.send(request, timeouts.get("write"))
            head = await connection.head(timeouts.get("read"))
        except BaseException:
            connection.socket.drop()
            raise
        body = ResponseBody(connection, timeouts.get("read"), self._idle)
        return httpx2.Response(status_code=head.status_code, headers=list(head.headers), stream=body)

    async def aclose(self) -> None:
        for connection in self._idle:
            connection.socket.drop()
        self._idle.clear()

    def _kept(self, origin: Origin) -> "HttpConnection | None":
        """A connection that is still good; all others are dropped."""
        while self._idle:
            connection = self._idle.pop()
            if connection.origin == origin and connection.is_fresh:
                return connection
            connection.socket.drop()
        return None

    async def _opened(self, origin: Origin, timeout_s: float | None) -> "HttpConnection":
        scheme, host, port = origin
        with CONNECTING:
            socket = await connect(host, port, self._tls if scheme == "https" else None, timeout_s)
        return HttpConnection(origin, socket)


class SocketStream(asyncio.Protocol):
    """What arrived before the connection broke can still be read afterwards."""

    def __init__(self) -> None:
        self._received: list[bytes] = []
        self._waiting = 0
        self._is_over = False
        self._error: Exception | None = None
        self._news = asyncio.Event()
        self._may_write = asyncio.Event()
        self._may_write.set()

    @property
    def is_quiet(self) -> bool:
        """Whether the connection is open and no unexpected data has arrived."""
        return not self._is_over and not self._received

    async def write(self, data: bytes, timeout_s: float | None) -> None:
        """In pieces, because asyncio copies whatever the system does not accept at once."""
        whole = memoryview(data)
        async with asyncio.timeout(timeout_s):
            for start in range(0, len(data), WRITE_BYTES):
                self._transport.write(whole[start : start + WRITE_BYTES])
                await self._may_write.wait()
                if self._is_over:
                    return

    async def read(self, timeout_s: float | None) -> bytes:
        """The data since the last call, at least one byte; empty at the end."""
        if not self._received and not self._is_over:
            self._news.clear()
            async with asyncio.timeout(timeout_s):
                await self._news.wait()
        if self._received:
            data = b"".join(self._received)
            self._received.clear()
            self._waiting = 0
            self._transport.resume_reading()
            return data
        if self._error is not None:
            raise self._error
        return b""

    def drop(self) -> None:
        self._is_over = True
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received.append(data)
        self._waiting += len(data)
        self._news.set()
        if self._waiting > READ_AHEAD:
            self._transport.pause_reading()

    def eof_received(self) -> None:
        self._is_over = True
        self._news.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_over = True
        self._error = error
        self._news.set()
        self._may_write.set()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()


async def connect(host: str, port: int, tls: ssl.SSLContext | None, timeout_s: float | None) -> "SocketStream":
    """Raises `TimeoutError`, or another `OSError` if the server cannot be reached or is not trusted."""
    async with asyncio.timeout(timeout_s):
        _, socket = await asyncio.get_running_loop().create_connection(
            SocketStream, host, port, ssl=tls, happy_eyeballs_delay=NEXT_ADDRESS_AFTER_S
        )
    return socket


class HttpConnection:
    """A socket and the state of the HTTP exchange on it."""

    def __init__(self, origin: Origin, socket: SocketStream) -> None:
        self.origin = origin
        self.socket = socket
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._idle_since = 0.0

    @property
    def is_fresh(self) -> bool:
        return self.socket.is_quiet and time.monotonic() - self._idle_since < KEEP_IDLE_S

    def is_ready_again(self) -> bool:
        """Whether the response was read completely and the server waits for the next request."""
        if not self._http.our_state is self._http.their_state is h11.DONE or self._http.trailing_data[0]:
            return False
        self._http.start_next_cycle()
        self._idle_since = time.monotonic()
        return self.socket.is_quiet

    async def send(self, request: httpx2.Request, timeout_s: float | None) -> None:
        body = await request.aread()
        with WRITING:
            events = (
                h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw),
                h11.Data(data=body),
                h11.EndOfMessage(),
            )
            pieces = [data for event in events if (data := self._http.send(event))]
            # A short request goes out in one packet; a long one is not copied for that.
            for data in pieces if len(body) > WRITE_BYTES else [b"".join(pieces)]:
                # If the server closes the connection early, it may have sent the reason first, which is read next.
                await self.socket.write(data, timeout_s)

    async def head(self, timeout_s: float | None) -> h11.Response:
        """The final response; informational ones before it are skipped."""
        while True:
            event = await self.next_event(timeout_s)
            if isinstance(event, h11.Response):
                return event

    async def next_event(self, timeout_s: float | None) -> object:
        with READING:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                data = await self.socket.read(timeout_s)
                if not data and self._http.their_state is h11.SEND_RESPONSE:
                    raise httpx2.RemoteProtocolError("Server disconnected without sending a response.")
                self._http.receive_data(data)
        return event


class ResponseBody(httpx2.AsyncByteStream):
    """The body of a response as it arrives. If it is read completely, the connection is reused, else dropped."""

    def __init__(self, connection: HttpConnection, timeout_s: float | None, idle: list[HttpConnection]) -> None:
        self._connection: HttpConnection | None = connection
        self._timeout_s = timeout_s
        self._idle = idle

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self._connection is not None:
            event = await self._connection.next_event(self._timeout_s)
            if not isinstance(event, h11.Data):
                return
            yield bytes(event.data)

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if connection.is_ready_again():
            self._idle.append(connection)
        else:
            connection.socket.drop()


def _origin(url: httpx2.URL) -> Origin:
    if url.scheme not in PORTS:
        raise httpx2.UnsupportedProtocol(f"Request URL has an unsupported protocol '{url.scheme}://'.")
    return url.scheme, url.raw_host.decode("ascii"), url.port or PORTS[url.scheme]


class HttpxErrors:
    """Translates errors into httpx2's. It is entered for every piece of data from a server, so it must be cheap."""

    def __init__(self, late: type[httpx2.HTTPError], broken: type[httpx2.HTTPError]) -> None:
        self._late = late
        self._broken = broken

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        match error:
            case None:
                return
            case TimeoutError():
                raise self._late(str(error)) from error
            case OSError():
                raise self._broken(str(error)) from error
            case h11.RemoteProtocolError():
                raise httpx2.RemoteProtocolError(str(error)) from error
            case h11.LocalProtocolError():
                raise httpx2.LocalProtocolError(str(error)) from error


CONNECTING = HttpxErrors(httpx2.ConnectTimeout, httpx2.ConnectError)
WRITING = HttpxErrors(httpx2.WriteTimeout, httpx2.WriteError)
READING = HttpxErrors(httpx2.ReadTimeout, httpx2.ReadError)
