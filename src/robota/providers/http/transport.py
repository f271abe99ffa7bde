"""HTTP/1.1 for httpx2, straight over asyncio: the pool it brings along takes longer to load than an answer to come.

It reaches a server directly. Through a proxy httpx2 goes by its own means.
"""

import ssl
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Final

import h11
import httpx2

from robota.providers.http.connection import Line, connect

KEEP_IDLE_S: Final = 5.0
LARGEST_HEAD: Final = 100 * 1024
PORTS: Final = {"http": 80, "https": 443}

Origin = tuple[str, str, int]


class DirectTransport(httpx2.AsyncBaseTransport):
    """Keeps connections that a server leaves open for the next request."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        tls.set_alpn_protocols(["http/1.1"])
        self._idle: list[Connection] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        timeouts: dict[str, float | None] = request.extensions.get("timeout", {})
        origin = _origin(request.url)
        connection = self._kept(origin) or await self._opened(origin, timeouts.get("connect"))
        try:
            await connection.send(request, timeouts.get("write"))
            head = await connection.head(timeouts.get("read"))
        except BaseException:
            connection.line.drop()
            raise
        body = Body(connection, timeouts.get("read"), self._idle)
        return httpx2.Response(status_code=head.status_code, headers=list(head.headers), stream=body)

    async def aclose(self) -> None:
        for connection in self._idle:
            connection.line.drop()
        self._idle.clear()

    def _kept(self, origin: Origin) -> "Connection | None":
        """A connection that is still good; all others are dropped."""
        while self._idle:
            connection = self._idle.pop()
            if connection.origin == origin and connection.is_fresh:
                return connection
            connection.line.drop()
        return None

    async def _opened(self, origin: Origin, timeout_s: float | None) -> "Connection":
        scheme, host, port = origin
        with _told_as_httpx2(httpx2.ConnectTimeout, httpx2.ConnectError):
            line = await connect(host, port, self._tls if scheme == "https" else None, timeout_s)
        return Connection(origin, line)


class Connection:
    """A line and what has been said on it."""

    def __init__(self, origin: Origin, line: Line) -> None:
        self.origin = origin
        self.line = line
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD)
        self._idle_since = 0.0

    @property
    def is_fresh(self) -> bool:
        return self.line.is_quiet and time.monotonic() - self._idle_since < KEEP_IDLE_S

    def is_ready_again(self) -> bool:
        """Whether the answer was read to its end and the server waits for the next request."""
        if not self._http.our_state is self._http.their_state is h11.DONE or self._http.trailing_data[0]:
            return False
        self._http.start_next_cycle()
        self._idle_since = time.monotonic()
        return self.line.is_quiet

    async def send(self, request: httpx2.Request, timeout_s: float | None) -> None:
        body = await request.aread()
        with _told_as_httpx2(httpx2.WriteTimeout, httpx2.WriteError):
            events = (
                h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw),
                h11.Data(data=body),
                h11.EndOfMessage(),
            )
            data = b"".join(self._http.send(event) or b"" for event in events)
            # Should the server hang up early, it may still have said why, and that is read next.
            await self.line.write(data, timeout_s)

    async def head(self, timeout_s: float | None) -> h11.Response:
        """The final response; what a server says before it is passed over."""
        while True:
            event = await self.next_event(timeout_s)
            if isinstance(event, h11.Response):
                return event

    async def next_event(self, timeout_s: float | None) -> object:
        with _told_as_httpx2(httpx2.ReadTimeout, httpx2.ReadError):
            while (event := self._http.next_event()) is h11.NEED_DATA:
                data = await self.line.read(timeout_s)
                if not data and self._http.their_state is h11.SEND_RESPONSE:
                    raise httpx2.RemoteProtocolError("Server disconnected without sending a response.")
                self._http.receive_data(data)
        return event


class Body(httpx2.AsyncByteStream):
    """The body of a response as it comes. Read to its end it gives its connection back, else it drops it."""

    def __init__(self, connection: Connection, timeout_s: float | None, idle: list[Connection]) -> None:
        self._connection: Connection | None = connection
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
            connection.line.drop()


def _origin(url: httpx2.URL) -> Origin:
    if url.scheme not in PORTS:
        raise httpx2.UnsupportedProtocol(f"Request URL has an unsupported protocol '{url.scheme}://'.")
    return url.scheme, url.raw_host.decode("ascii"), url.port or PORTS[url.scheme]


@contextmanager
def _told_as_httpx2(late: type[httpx2.HTTPError], broken: type[httpx2.HTTPError]) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except OSError as error:
        raise broken(str(error)) from error
    except h11.RemoteProtocolError as error:
        raise httpx2.RemoteProtocolError(str(error)) from error
    except h11.LocalProtocolError as error:
        raise httpx2.LocalProtocolError(str(error)) from error
