"""The fake model server: deterministic, on 127.0.0.1 only, connecting nowhere. See `__main__` for what it can do."""

import asyncio
import contextlib
import json
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from aiohttp import web

from tests.fakellm.chat import Chat
from tests.fakellm.gemini import Gemini
from tests.fakellm.messages import Messages
from tests.fakellm.overheads import overheads
from tests.fakellm.responses import Responses
from tests.fakellm.scenario import Scenario
from tests.fakellm.shapes import CREATED, Dialect, Json, Reply, Request
from tests.fakellm.workspace import Workspace

ROUTES: Final[tuple[tuple[str, Dialect], ...]] = (
    ("/chat/completions", Chat()),
    ("/responses", Responses()),
    ("/messages", Messages()),
    (":streamGenerateContent", Gemini()),
    (":generateContent", Gemini()),
)


# Of this user only: another's would be one that we cannot write to.
WORKDIR: Final = str(Path(tempfile.gettempdir()) / f"fakellm-ws-{os.getuid()}")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How the server behaves; `stall` and `retry_after` are seconds, `ttft` and `delay` milliseconds."""

    scenario: str = "hello"
    port: int = 8399
    workdir: str = WORKDIR
    lines: int = 20
    prefer: str = "read"
    main: str = "tools"
    model: str = "fake-model"
    ttft: float = 0
    delay: float = 0
    retry_after: int = 1
    stall: float = 600
    log: str | None = None
    dump: str | None = None


@contextlib.contextmanager
def running(scenario: str = "hello", **options: Any) -> Iterator["Server"]:
    """A server on a free port in a thread of this process; gives the server (url, records, reset)."""
    with tempfile.TemporaryDirectory(prefix="fakellm-") as workdir:
        wanted = Options(scenario=scenario, **{"port": 0, "workdir": workdir, **options})
        yield from _served(Server(wanted))


def _served(server: "Server") -> Iterator["Server"]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(server.start(), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(70)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class Server:
    """`records` has one entry a request (see `__main__`), `headers` what each sent; `last_body` is the newest body."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.url = ""
        self.workspace = Workspace(options.workdir, options.lines)
        self.reset(options.scenario)

    def reset(self, scenario: str, prefer: str = "", main: str = "", delay: float | None = None) -> None:
        if delay is not None:
            self.options = msgspec.structs.replace(self.options, delay=delay)
        options = self.options
        self.scenario = Scenario(scenario, self.workspace, prefer or options.prefer, main or options.main)
        self.records: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self.last_body = b""

    async def start(self) -> web.AppRunner:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/__fake/{what:log|overheads|reset}", self._control)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.options.port).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    async def _control(self, request: web.Request) -> web.Response:
        what = request.match_info["what"]
        if what == "reset":
            self.reset(**await request.json())
        return web.json_response(overheads(self.records) if what == "overheads" else self.records)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        record: Json = {
            "i": len(self.records),
            "method": request.method,
            "path": request.path_qs,
            "kind": "other",
            "status": 200,
            "t_arrive": time.monotonic(),
        }
        self.records.append(record)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        try:
            raw = self.last_body = await request.read()
            record.update(t_body=time.monotonic(), body_bytes=len(raw))
            self._dump(raw, record["i"])
            return await self._route(request, raw, record)
        except ConnectionError as error:
            record["error"] = repr(error)
            return web.Response(status=499)
        finally:
            record["t_end"] = time.monotonic()
            self._log(record)

    def _dump(self, raw: bytes, number: int) -> None:
        if self.options.dump:
            directory = Path(self.options.dump)
            directory.mkdir(parents=True, exist_ok=True)
            (directory / f"{number:04d}.json").write_bytes(raw)

    def _log(self, record: Json) -> None:
        if self.options.log:
            with Path(self.options.log).open("a") as file:
                file.write(json.dumps(record) + "\n")

    async def _route(self, request: web.Request, raw: bytes, record: Json) -> web.StreamResponse:
        path = request.path.rstrip("/")
        if request.method == "GET" and re.search(r"/models(/[^/]+)?$", path):
            return self._models(path)
        if path.endswith(("/count_tokens", ":countTokens")):
            return web.json_response({"input_tokens": len(raw) // 4, "totalTokens": len(raw) // 4})
        dialect = next((dialect for end, dialect in ROUTES if path.endswith(end)), None)
        body = _json_object(raw)
        if dialect is None or body is None or request.method != "POST":
            record["status"] = 404
            return web.json_response(Chat().error(404), status=404)
        model = body.get("model") or path.rpartition("/")[2].partition(":")[0]
        asked = dialect.parse(body)
        stream = asked.stream or path.endswith(":streamGenerateContent")
        question = Request(body=body, model=model, size=len(raw), asked=asked)
        reply = self.scenario.answer(question)
        record.update(
            kind="main" if self.scenario.is_main(question) else "side",
            dialect=dialect.name,
            reply=reply.label,
            status=reply.status,
            n_messages=asked.n_messages,
            n_tools=len(asked.tools),
            stream=stream,
        )
        await asyncio.sleep(self.options.ttft / 1000)
        if reply.status != 200:
            headers = {"Retry-After": str(self.options.retry_after)} if reply.status == 429 else {}
            return web.json_response(dialect.error(reply.status), status=reply.status, headers=headers)
        record["t_first"] = time.monotonic()
        if stream:
            return await self._stream(request, dialect.events(reply, question), reply, record)
        return await self._whole(request, dialect.whole(reply, question), reply)

    def _models(self, path: str) -> web.Response:
        """One form that serves all dialects at once."""
        model = {
            "id": self.options.model,
            "object": "model",
            "type": "model",
            "created": CREATED,
            "owned_by": "fake",
            "created_at": "2023-11-14T22:13:20Z",
            "display_name": self.options.model,
            "context_length": 200_000,
        }
        if not path.endswith("/models"):
            return web.json_response(model)
        return web.json_response({"object": "list", "data": [model], "models": [], "has_more": False})

    async def _whole(self, request: web.Request, answer: Json, reply: Reply) -> web.Response:
        """Without a stream every wire fault is a reset."""
        if reply.fault == "stall":
            await asyncio.sleep(self.options.stall)
        if reply.fault and request.transport:
            request.transport.abort()
        return web.json_response(answer)

    async def _stream(
        self, request: web.Request, frames: list[bytes], reply: Reply, record: Json
    ) -> web.StreamResponse:
        headers = {
            "Content-Type": "text/event-stream; charset=utf-8",
            "Cache-Control": "no-cache",
            "x-request-id": f"req_{record['i']}",
        }
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        for number, frame in enumerate(_up_to_fault(frames, reply.fault)):
            await response.write(frame)
            if self.options.delay:
                await asyncio.sleep(self.options.delay / 1000)
            elif number % 64 == 0:
                await asyncio.sleep(0)
        if reply.fault == "badsse":
            await response.write(b'data: {"choices": [{"delta": {oops\n\n')
        elif reply.fault not in ("", "eof"):
            # Either the silence itself, or time for the frames to get there before the reset.
            await asyncio.sleep(self.options.stall if reply.fault == "stall" else 0.05)
            if request.transport:
                request.transport.abort()
        await response.write_eof()
        return response


def _up_to_fault(frames: list[bytes], fault: str) -> list[bytes]:
    """A reply that goes wrong never gets to its closing frames."""
    if not fault:
        return frames
    mark = rb'"arguments":"[^"]|input_json|functionCall' if fault == "cutcall" else rb"rt he"
    return frames[: next(place for place, frame in enumerate(frames) if re.search(mark, frame)) + 1]


def _json_object(raw: bytes) -> Json | None:
    try:
        body = json.loads(raw or b"{}")
    except ValueError:
        return None
    return body if isinstance(body, dict) else None
