"""The proxy that sandboxed commands reach the network through: HTTP CONNECT, and plain HTTP one request a connection.

Every message is read by h11 and written anew by it, so that what was judged is what the server is told.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import h11

from robota.workspace.sandbox.egress.allow_list import AllowList, HostRefused
from robota.workspace.sandbox.egress.limits import Bounds
from robota.workspace.sandbox.egress.relay import PIECE_BYTES, Line, tunnel, unless_silent
from robota.workspace.sandbox.egress.request import NotServed, response_for_command, wish_of
from robota.workspace.web.address import WebAddress

LINGER_S: Final = 2.0
HOW_TO_ALLOW: Final = (
    "Nothing was sent. The user can allow it by adding {entry!r} to sandbox.allowedHosts in their own settings."
)


class Conversation:
    """One connection of a command, from its first line to its end."""

    def __init__(self, client: Line, allowed: AllowList, bounds: Bounds, refused: Callable[[str], None]) -> None:
        """`refused` is told of every host that the command is not let through to, in a sentence."""
        self._client = client
        self._allowed = allowed
        self._bounds = bounds
        self._refused = refused
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=bounds.head_bytes)

    async def hold(self) -> None:
        """Serve one request, or say why not, and hang up. Raises nothing but `CancelledError`."""
        try:
            with suppress(OSError, h11.ProtocolError):
                try:
                    await self._serve()
                except NotServed as problem:
                    await self._answer(problem)
                await self._part()
        finally:
            self._client.hang_up()

    async def _serve(self) -> None:
        wish = wish_of(await self._request())
        places = await self._places(wish.address)
        server = await self._connected(wish.address, places)
        try:
            if wish.onward is None:
                await self._tunnel(server)
            else:
                await self._forward(wish.onward, server)
            await server.close()
        finally:
            server.hang_up()

    async def _request(self) -> h11.Request:
        try:
            async with asyncio.timeout(self._bounds.head_s):
                event = await self._next_of_client()
        except TimeoutError as error:
            raise NotServed(408, f"No whole request came within {self._bounds.head_s:g} s.") from error
        except h11.RemoteProtocolError as error:
            raise NotServed(error.error_status_hint, f"This is no proper HTTP request: {error}.") from error
        if not isinstance(event, h11.Request):
            raise ConnectionResetError("The command hung up without a word.")
        return event

    async def _places(self, address: WebAddress) -> Sequence[str]:
        try:
            async with asyncio.timeout(self._bounds.connect_s):
                return await self._allowed.addresses(address)
        except HostRefused as refusal:
            self._refused(str(refusal))
            text = f"{refusal} {HOW_TO_ALLOW.format(entry=refusal.missing)}"
            raise NotServed(403, text, "Not in sandbox.allowedHosts") from refusal
        except (OSError, UnicodeError) as error:
            trouble = str(error) or "it took too long"
            raise NotServed(502, f"The host {address.host} could not be found: {trouble}.") from error

    async def _connected(self, address: WebAddress, places: Sequence[str]) -> Line:
        trouble = "it has no address, or does not answer"
        with suppress(TimeoutError):
            async with asyncio.timeout(self._bounds.connect_s):
                for place in places:
                    try:
                        reader, writer = await asyncio.open_connection(place, address.port)
                    except OSError as error:
                        trouble = error.strerror or str(error)
                    else:
                        return Line(reader=reader, writer=writer)
        raise NotServed(502, f"{address.host}, port {address.port}, could not be reached: {trouble}.")

    async def _tunnel(self, server: Line) -> None:
        established = h11.Response(status_code=200, reason=b"Connection established", headers=[])
        await self._client.say(self._http.send(established) or b"")
        early, _ = self._http.trailing_data
        if early:
            await server.say(early)
        await tunnel(self._client, server, self._bounds.idle_s)

    async def _forward(self, request: h11.Request, server: Line) -> None:
        far = h11.Connection(h11.CLIENT, max_incomplete_event_size=self._bounds.head_bytes)
        trouble = ""
        try:
            async with unless_silent(self._bounds.idle_s) as heard, asyncio.TaskGroup() as directions:
                sending = directions.create_task(self._pass_request(request, far, server, heard))
                await self._pass_response(far, server, heard)
                sending.cancel()
        except* (OSError, h11.ProtocolError) as problems:
            trouble = str(problems.exceptions[0]) or "it fell silent"
        if trouble and self._http.our_state is h11.SEND_RESPONSE:
            raise NotServed(502, f"The server did not answer properly: {trouble}.")

    async def _pass_request(
        self, request: h11.Request, far: h11.Connection, server: Line, heard: Callable[[], None]
    ) -> None:
        event: h11.Event = request
        while True:
            assert isinstance(event, h11.Request | h11.Data | h11.EndOfMessage)
            # A server that listens no more may have answered already; the other direction will see.
            with suppress(ConnectionError):
                await server.say(far.send(event) or b"")
            if isinstance(event, h11.EndOfMessage):
                return
            event = await self._next_of_client()
            heard()

    async def _pass_response(self, far: h11.Connection, server: Line, heard: Callable[[], None]) -> None:
        while True:
            event = await _next(far, server)
            heard()
            if isinstance(event, h11.Response):
                event = response_for_command(event)
            assert isinstance(event, h11.InformationalResponse | h11.Response | h11.Data | h11.EndOfMessage)
            await self._client.say(self._http.send(event) or b"")
            if isinstance(event, h11.EndOfMessage):
                return

    async def _next_of_client(self) -> h11.Event:
        return await _next(self._http, self._client)

    async def _answer(self, problem: NotServed) -> None:
        body = f"{problem}\n".encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        answer = h11.Response(status_code=problem.status, reason=problem.reason.encode(), headers=headers)
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            await self._client.say(self._http.send(event) or b"")

    async def _part(self) -> None:
        """Say no more, and read on a little: hanging up on unread bytes would take our last words back."""
        self._client.say_no_more()
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                while await self._client.reader.read(PIECE_BYTES):
                    pass
        await self._client.close()


async def _next(http: h11.Connection, line: Line) -> h11.Event:
    """The next event; raises `h11.RemoteProtocolError` for what is no HTTP, and for an end in the middle of it."""
    while (event := http.next_event()) is h11.NEED_DATA:
        http.receive_data(await line.reader.read(PIECE_BYTES))
    assert isinstance(event, h11.Event)
    return event
