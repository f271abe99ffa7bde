"""A server that answers each request with the next of its answers, and keeps what it was asked."""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from aiohttp import web


class Answer(msgspec.Struct, frozen=True):
    body: bytes
    status: int = 200
    headers: dict[str, str] = {}


class ShapeServer:
    """`bodies`, `headers` and `paths` have one entry a request."""

    def __init__(self, answers: tuple[bytes | Answer, ...]) -> None:
        self.url = ""
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self._answers = iter(answers)

    async def handle(self, request: web.Request) -> web.Response:
        self.paths.append(request.path_qs)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        raw = await request.read()
        self.bodies.append(json.loads(raw) if raw else {})
        answer = next(self._answers)
        if isinstance(answer, bytes):
            return web.Response(body=answer, content_type="text/event-stream")
        return web.Response(body=answer.body, status=answer.status, headers=answer.headers)


@contextlib.asynccontextmanager
async def shape_server(*answers: bytes | Answer) -> AsyncIterator[ShapeServer]:
    server = ShapeServer(answers)
    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{tail:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
