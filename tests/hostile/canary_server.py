"""A server that nobody should ever call."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class CanaryServer:
    """Its address, what was asked of it, and every header that came with that."""

    def __init__(self) -> None:
        self.url = ""
        self.heard: list[str] = []
        self._headers: list[str] = []

    @property
    def headers(self) -> str:
        return "".join(self._headers)

    def hear(self, request: str, headers: str) -> None:
        self.heard.append(request)
        self._headers.append(headers)


@contextmanager
def listening() -> Iterator[CanaryServer]:
    canary = CanaryServer()

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            canary.hear(f"{self.command} {self.path}", str(self.headers))
            self.send_error(404)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        canary.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield canary
        finally:
            server.shutdown()
            thread.join()
