"""A server that nobody should ever call."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class CanaryServer:
    """Its address, and what was asked of it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.heard: list[str] = []


@contextmanager
def listening() -> Iterator[CanaryServer]:
    heard: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(f"{self.command} {self.path}")
            self.send_error(404)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        canary = CanaryServer(f"http://127.0.0.1:{server.server_address[1]}")
        canary.heard = heard
        try:
            yield canary
        finally:
            server.shutdown()
            thread.join()
