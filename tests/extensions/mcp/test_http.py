"""MCP servers over HTTP: a real one made with the SDK, and hand-written ones that go wrong, all on loopback."""

import http.server
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from robota.protocol.events import Notice
from tests.cli.scripts import call
from tests.engine.stage import Stage
from tests.extensions.mcp.setup import DONE, SDK, first_result, play_with

ADD = {"calls": [call("mcp__web__add", a=20, b=22)]}


@pytest.fixture
def sdk_url() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(SDK), "http", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stderr is not None
        while b"running on" not in process.stderr.readline():
            assert process.poll() is None
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield f"http://127.0.0.1:{port}/mcp"
        process.kill()


def test_a_server_over_http_works_like_any_other(workspace: Path, sdk_url: str) -> None:
    def check(stage: Stage) -> None:
        assert "the sum is 42" in first_result(stage)

    play_with(workspace, {"web": {"type": "http", "url": sdk_url}}, [ADD, DONE], check)


class Careless(http.server.BaseHTTPRequestHandler):
    """Sends the answer of its server object, and records the request headers."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        served: Any = self.server
        served.headers.append(dict(self.headers))
        if "id" not in request:
            self.send_response(202)
            self.end_headers()
            return
        served.respond(self, request)

    def do_GET(self) -> None:
        self.send_response(405)
        self.end_headers()

    def send_json(self, value: Any, **headers: str) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, header in headers.items():
            self.send_header(name.replace("_", "-"), header)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


class CarelessServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), Careless)
        self.answer = answer
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/mcp"

    def respond(self, handler: Careless, request: dict[str, Any]) -> None:
        version = request.get("params", {}).get("protocolVersion")
        tool = {"name": "add", "inputSchema": {"type": "object"}}
        info = {"name": "careless", "version": "1"}
        results: dict[str, Any] = {
            "initialize": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info},
            "tools/list": {"tools": [tool]},
            "tools/call": self.answer,
        }
        head = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] in results:
            handler.send_json({**head, "result": results[request["method"]]})
        else:
            handler.send_json({**head, "error": {"code": -32601, "message": "Method not found"}})


@contextmanager
def careless(answer: dict[str, Any]) -> Iterator[CarelessServer]:
    server = CarelessServer(answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def test_headers_are_sent_with_variables_filled_in(workspace: Path) -> None:
    with careless({"content": [{"type": "text", "text": "careless"}]}) as server:
        entry = {"type": "http", "url": server.url, "headers": {"X-Key": "${NO_SUCH_KEY:-sesame}"}}
        play_with(workspace, {"web": entry}, [ADD, DONE], lambda stage: None)
        assert {headers["X-Key"] for headers in server.headers} == {"sesame"}


def test_an_answer_without_end_is_an_error(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert "The MCP server web failed: " in first_result(stage) and "too long" in first_result(stage)

    with careless({"content": [{"type": "text", "text": "x" * (17 << 20)}]}) as server:
        play_with(workspace, {"web": {"type": "http", "url": server.url}}, [ADD, DONE], check)


def test_a_server_that_is_not_there_is_a_notice(workspace: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/mcp"

        def check(stage: Stage) -> None:
            # On a busy machine there may be one before it: that servers are still starting.
            assert "The MCP server web does not work: " in stage.events_of(Notice)[-1].text

        play_with(workspace, {"web": {"type": "http", "url": url}}, [DONE], check)
