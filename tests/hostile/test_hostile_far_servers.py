"""MCP servers elsewhere that send Robota on to others: what the user wrote for one goes to that one alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.extensions.mcp.setup import DONE, run_with
from tests.harness.cli import Robota
from tests.hostile.canary_server import listening

KEY = "key-7f3a9c1e5b2d8046"


@contextmanager
def sending_on(status: int, headers: dict[str, str]) -> Iterator[str]:
    """A server that gives everybody this answer; its address."""

    class Sender(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            for name, value in {**headers, "content-length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()

        do_GET = do_DELETE = do_POST

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Sender) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "header"),
    [
        (301, "location"),
        (302, "location"),
        (303, "location"),
        (307, "location"),
        (308, "location"),
        (200, "refresh"),
        (401, "www-authenticate"),
        (200, "link"),
    ],
)
def test_nobody_else_is_asked_and_nobody_else_gets_the_key(robota: Robota, status: int, header: str) -> None:
    with listening() as canary:
        target = {
            "refresh": f"0; url={canary.url}",
            "www-authenticate": f'Bearer resource_metadata="{canary.url}/meta"',
            "link": f"<{canary.url}>; rel=preload",
        }.get(header, f"{canary.url}/other")
        with sending_on(status, {header: target}) as url:
            entry = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {KEY}"}}
            done = run_with(robota, {"far": entry}, [DONE], MCP_TIMEOUT="5000")
        assert canary.heard == [] and KEY not in canary.headers
    assert done.stdout == "done\n" and "The MCP server far does not work" in done.stderr, done.stderr
    assert KEY not in done.stderr
