"""What a page can ask of the server: sessions, their events, commands to them, and the browsers that were let in."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from robota.clients.web.page_lists import asks_data, sessions_data
from robota.clients.web.page_outcomes import receipt_data
from robota.clients.web.site_files import PAGE, SITE
from robota.config.settings.schema import Effort
from robota.protocol.codec import decode_command
from robota.protocol.commands import (
    Accepted,
    Command,
    ContextRequest,
    NewTask,
    OlderRowsRequest,
    Refused,
    ShowRewindDiff,
)
from robota.protocol.connection.known_session import SessionStart
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.slash_commands import SessionWanted
from robota.serving.web.devices import Access
from robota.serving.web.event_stream import EventStream
from robota.serving.web.guard import DEVICE, problem
from robota.serving.web.hub import BEAT, PageReader, SessionHub
from robota.serving.web.letting_in import LettingIn
from robota.serving.web.pages_host import PagesHost
from robota.serving.web.request_body import BadRequest, body_of, reply, value_of

# What a page that only shows a session may send.
READING: Final = (ContextRequest, OlderRowsRequest, ShowRewindDiff)
READ_ONLY: Final = Refused(
    code="read_only", message="This page only shows the session; it cannot answer or change anything."
)
Handler = Callable[[Request], Awaitable[ASGIApp]]


class SessionRequested(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A session to start, and its first task."""

    cwd: str
    text: str = ""
    images: tuple[str, ...] = ()
    name: str | None = None
    provider: str | None = None
    model: str | None = None
    mode: str | None = None
    permission_mode: PermissionMode | None = None


class Reopening(msgspec.Struct, frozen=True, kw_only=True):
    """What is to change in a session that is opened again."""

    provider: str | None = None
    model: str | None = None
    effort: Effort | None = None
    language: str | None = None

    def of(self, session_id: str) -> SessionWanted:
        """The same for one session."""
        return SessionWanted(session_id=session_id, **msgspec.structs.asdict(self))


class Managing(msgspec.Struct, frozen=True, kw_only=True):
    """What is done with a stored session: `rename`, `fork`, `delete`, `restore`."""

    name: str = ""


class Routes:
    """The handlers."""

    def __init__(self, host: PagesHost, letting_in: LettingIn) -> None:
        self._host = host
        self._letting_in = letting_in

    def app(self) -> Starlette:
        """All routes. Whatever is not JSON of the right form is refused with a reason."""
        one = "/api/sessions/{session_id}"
        routes = (
            *self._letting_in.routes(),
            self._route("/api/me", self._me),
            self._route("/api/sessions", self._sessions),
            self._route("/api/sessions", self._open, "POST"),
            self._route("/api/inbox", self._inbox),
            self._route("/api/overview", self._overview),
            self._route(f"{one}/events", self._events),
            self._route(f"{one}/commands", self._command, "POST"),
            self._route(f"{one}/resume", self._resume, "POST"),
            self._route(f"{one}/reopen", self._reopen, "POST"),
            self._route(f"{one}/close", self._close, "POST"),
            self._route(f"{one}/manage/{{verb}}", self._manage, "POST"),
            Route("/site/{name:path}", _site_file),
            Route("/{path:path}", _page),
        )
        return Starlette(routes=list(routes))

    def _route(self, path: str, handler: Handler, method: str = "GET") -> Route:
        async def answered(request: Request) -> ASGIApp:
            if method == "POST" and self._access(request) is Access.VIEW and handler != self._command:
                return reply(READ_ONLY, 403)
            try:
                return await handler(request)
            except BadRequest as bad:
                return bad.response

        return Route(path, answered, methods=[method])

    def _access(self, request: Request) -> Access:
        return self._letting_in.devices.access_of(request.scope[DEVICE])

    async def _me(self, request: Request) -> Response:
        device = request.scope[DEVICE]
        return reply({"deviceId": device.id, "access": self._access(request), **self._host.about()})

    async def _sessions(self, request: Request) -> Response:
        return reply(sessions_data(await self._host.port.sessions()))

    async def _inbox(self, request: Request) -> Response:
        return reply(asks_data(await self._host.port.inbox()))

    async def _overview(self, request: Request) -> ASGIApp:
        return EventStream(self._while_let_in(request, self._host.overview.events()))

    async def _open(self, request: Request) -> Response:
        wanted = await _session_wanted(request)
        given = msgspec.structs.asdict(wanted)
        fields = {name: value for name, value in given.items() if name not in ("text", "images")}
        window = await self._host.open(SessionStart(**fields))
        if isinstance(window, Refused):
            return reply(window, 409)
        self._host.hubs.begun(window)
        if wanted.text:
            receipt = await window.session.submit(NewTask(text=wanted.text, images=wanted.images))
            if isinstance(receipt, Refused):
                return reply({**msgspec.to_builtins(receipt), "sessionId": window.hello.session_id}, 409)
        return reply(Accepted(id=window.hello.session_id))

    async def _resume(self, request: Request) -> Response:
        hub = await self._host.hubs.resumed(_session_id(request))
        return reply(hub, 409) if isinstance(hub, Refused) else reply(Accepted(id=hub.window.hello.session_id))

    async def _reopen(self, request: Request) -> Response:
        wanted = await value_of(request, Reopening)
        session_id = _session_id(request)
        hub = await self._host.hubs.reopened(session_id, wanted.of(session_id))
        return reply(hub, 409) if isinstance(hub, Refused) else reply(Accepted(id=session_id))

    async def _close(self, request: Request) -> Response:
        receipt = await self._host.close(_session_id(request))
        return reply(receipt, 200 if isinstance(receipt, Accepted) else 409)

    async def _manage(self, request: Request) -> Response:
        wanted = await value_of(request, Managing)
        receipt = await self._host.manage(request.path_params["verb"], _session_id(request), wanted.name)
        return reply(receipt, 200 if isinstance(receipt, Accepted) else 409)

    async def _events(self, request: Request) -> ASGIApp:
        hub = await self._host.hubs.following(_session_id(request))
        if isinstance(hub, Refused):
            return reply(hub, 404)
        last_id = request.headers.get("last-event-id", "")
        return EventStream(self._while_let_in(request, _read(hub, self._host, last_id)))

    async def _while_let_in(self, request: Request, events: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        device_id = request.scope[DEVICE].id
        async with aclosing(events):
            async for event in events:
                if not self._letting_in.devices.is_known(device_id):
                    return
                yield event

    async def _command(self, request: Request) -> Response:
        command: Command = decode_command(await body_of(request))
        if self._access(request) is Access.VIEW and not isinstance(command, READING):
            return reply(READ_ONLY, 403)
        hub = await self._host.hubs.following(_session_id(request))
        if isinstance(hub, Refused):
            return reply(hub, 404)
        receipt = await hub.window.session.submit(command)
        return reply(receipt_data(receipt))


async def _session_wanted(request: Request) -> SessionRequested:
    body = await body_of(request)
    try:
        return msgspec.json.decode(body, type=SessionRequested)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(problem(400, "bad_request", f"Nothing was started: {error}.")) from error


async def _read(hub: SessionHub, host: PagesHost, last_id: str) -> AsyncGenerator[bytes, None]:
    reader = await hub.read(last_id)
    telling = asyncio.create_task(_tell_overview(host, reader))
    try:
        async for piece in reader:
            yield piece
    finally:
        telling.cancel()
        hub.leave(reader)
        host.hubs.leave_unread(hub.window.hello.session_id)


async def _tell_overview(host: PagesHost, reader: PageReader) -> None:
    """The list of sessions comes with the events of one, because browsers open few connections to one server."""
    async for event in host.overview.events():
        if event is not BEAT:
            reader.put(event)


def _session_id(request: Request) -> str:
    return str(request.path_params["session_id"])


async def _page(request: Request) -> Response:
    """One page, whatever its path: which session it shows is for the page to read."""
    if request.url.path.startswith("/api/"):
        return problem(404, "unknown", "There is nothing here.")
    return Response(PAGE.content, 200, {"cache-control": "no-store"}, PAGE.media_type)


async def _site_file(request: Request) -> Response:
    file = SITE.get(request.path_params["name"])
    if file is None:
        return problem(404, "unknown", "There is nothing here.")
    headers = {"cache-control": "no-cache", "etag": file.etag}
    if request.headers.get("if-none-match") == file.etag:
        return Response(b"", 304, headers)
    return Response(file.content, 200, headers, file.media_type)
