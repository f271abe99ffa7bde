"""The HTTP proxy for sandboxed commands: CONNECT, and plain HTTP with one request per connection.

Every message is parsed and serialized again by h11, so that the server gets exactly what was checked.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import h11

from robota.workspace.sandbox.egress.allow_list import AllowList, HostRefused
from robota.workspace.sandbox.egress.relay import PIECE_BYTES, EgressLimits, StreamPair, idle_timeout, tunnel
from robota.workspace.sandbox.egress.request import ProxyError, parse_proxy_request, response_for_command
from robota.workspace.web.address import WebAddress

LINGER_S: Final = 2.0
HOW_TO_ALLOW: Final = (
    "Nothing was sent. The user can allow it by adding {entry!r} to sandbox.allowedHosts in their own settings."
)


class ProxyConnection:
    """Serves one connection of a command."""

    def __init__(
        self,
        client: StreamPair,
        allowed: AllowList,
        limits: EgressLimits,
        on_refused: Callable[[str], None],
        on_reached: Callable[[str], None],
    ) -> None:
        """`on_refused` is called with a sentence for every host that is refused.

        `on_reached` is called with host and port for every connection that is made.
        """
        self._on_reached = on_reached
        self._client = client
        self._allowed = allowed
        self._limits = limits
        self._on_refused = on_refused
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.head_bytes)

    async def serve(self) -> None:
        """Serve one request, or answer with an error, and close. Raises only `CancelledError`."""
        try:
            with suppress(OSError, h11.ProtocolError):
                try:
                    await self._serve_request()
                except ProxyError as problem:
                    await self._answer(problem)
                await self._close()
        finally:
            self._client.abort()

    async def _serve_request(self) -> None:
        request = parse_proxy_request(await self._request())
        addresses = await self._allowed_addresses(request.address)
        server = await self._connected(request.address, addresses)
        self._on_reached(f"{request.address.host}:{request.address.port}")
        try:
            if request.forwarded is None:
                await self._tunnel(server)
            else:
                await self._forward(request.forwarded, server)
            await server.close()
        finally:
            server.abort()

    async def _request(self) -> h11.Request:
        try:
            async with asyncio.timeout(self._limits.head_s):
                event = await self._next_of_client()
        except TimeoutError as error:
            raise ProxyError(408, f"No complete request arrived within {self._limits.head_s:g} s.") from error
        except h11.RemoteProtocolError as error:
            raise ProxyError(error.error_status_hint, f"This is not a valid HTTP request: {error}.") from error
        if not isinstance(event, h11.Request):
            raise ConnectionResetError("The command closed the connection without a request.")
        return event

    async def _allowed_addresses(self, address: WebAddress) -> Sequence[str]:
        try:
            async with asyncio.timeout(self._limits.connect_s):
                return await self._allowed.addresses(address)
        except HostRefused as refusal:
            self._on_refused(str(refusal))
            text = f"{refusal} {HOW_TO_ALLOW.format(entry=refusal.missing)}"
            raise ProxyError(403, text, "Not in sandbox.allowedHosts") from refusal
        except (OSError, UnicodeError) as error:
            trouble = str(error) or "it took too long"
            raise ProxyError(502, f"The host {address.host} could not be found: {trouble}.") from error

    async def _connected(self, address: WebAddress, addresses: Sequence[str]) -> StreamPair:
        trouble = "it has no address, or does not answer"
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.connect_s):
                for ip_address in addresses:
                    try:
                        reader, writer = await asyncio.open_connection(ip_address, address.port)
                    except OSError as error:
                        trouble = error.strerror or str(error)
                    else:
                        return StreamPair(reader=reader, writer=writer)
        raise ProxyError(502, f"{address.host}, port {address.port}, could not be reached: {trouble}.")

    async def _tunnel(self, server: StreamPair) -> None:
        established = h11.Response(status_code=200, reason=b"Connection established", headers=[])
        await self._client.send(self._http.send(established) or b"")
        early, _ = self._http.trailing_data
        if early:
            await server.send(early)
        await tunnel(self._client, server, self._limits.idle_s)

    async def _forward(self, request: h11.Request, server: StreamPair) -> None:
        far = h11.Connection(h11.CLIENT, max_incomplete_event_size=self._limits.head_bytes)
        trouble = ""
        try:
            async with idle_timeout(self._limits.idle_s) as on_activity, asyncio.TaskGroup() as directions:
                sending = directions.create_task(self._pass_request(request, far, server, on_activity))
                await self._pass_response(far, server, on_activity)
                sending.cancel()
        except* (OSError, h11.ProtocolError) as problems:
            trouble = str(problems.exceptions[0]) or "it stopped responding"
        if trouble and self._http.our_state is h11.SEND_RESPONSE:
            raise ProxyError(502, f"The server sent an invalid answer: {trouble}.")

    async def _pass_request(
        self, request: h11.Request, far: h11.Connection, server: StreamPair, on_activity: Callable[[], None]
    ) -> None:
        event: h11.Event = request
        while True:
            assert isinstance(event, h11.Request | h11.Data | h11.EndOfMessage)
            # A server that stopped reading may have answered already; the other direction handles that.
            with suppress(ConnectionError):
                await server.send(far.send(event) or b"")
            if isinstance(event, h11.EndOfMessage):
                return
            event = await self._next_of_client()
            on_activity()

    async def _pass_response(self, far: h11.Connection, server: StreamPair, on_activity: Callable[[], None]) -> None:
        while True:
            event = await _next(far, server)
            on_activity()
            if isinstance(event, h11.Response):
                event = response_for_command(event)
            assert isinstance(event, h11.InformationalResponse | h11.Response | h11.Data | h11.EndOfMessage)
            await self._client.send(self._http.send(event) or b"")
            if isinstance(event, h11.EndOfMessage):
                return

    async def _next_of_client(self) -> h11.Event:
        return await _next(self._http, self._client)

    async def _answer(self, problem: ProxyError) -> None:
        body = f"{problem}\n".encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        answer = h11.Response(status_code=problem.status, reason=problem.reason.encode(), headers=headers)
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            await self._client.send(self._http.send(event) or b"")

    async def _close(self) -> None:
        """Stop sending and read a little more: closing with unread bytes would discard what we sent last."""
        self._client.end_sending()
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                while await self._client.reader.read(PIECE_BYTES):
                    pass
        await self._client.close()


async def _next(http: h11.Connection, stream: StreamPair) -> h11.Event:
    """The next event; `h11.RemoteProtocolError` for anything that is not HTTP, or ends in the middle of a message."""
    while (event := http.next_event()) is h11.NEED_DATA:
        http.receive_data(await stream.reader.read(PIECE_BYTES))
    assert isinstance(event, h11.Event)
    return event
