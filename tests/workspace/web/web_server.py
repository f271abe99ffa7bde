"""A small web on loopback: pages by path, and a note of every request that came."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

PLAIN = {"content-type": "text/plain"}


class Page(msgspec.Struct, frozen=True, kw_only=True):
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = msgspec.field(default_factory=PLAIN.copy)
    stalls: bool = False  # promises more than it sends, and waits


class Web:
    """`pages` may be changed while the server runs."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.requests: list[dict[str, str]] = []
        self.port = 0
        self.closing = threading.Event()

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def redirect(self, path: str, target: str, status: int = 302) -> None:
        self.pages[path] = Page(status=status, headers={"location": target})


@contextmanager
def web_server() -> Iterator[Web]:
    web = Web()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            web.requests.append({"path": self.path, **{name.lower(): value for name, value in self.headers.items()}})
            page = web.pages.get(self.path, Page(status=404, body=b"no such page"))
            self.send_response(page.status)
            for name, value in page.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(page.body) + page.stalls))
            self.end_headers()
            self.wfile.write(page.body)
            if page.stalls:
                self.wfile.flush()
                web.closing.wait()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    web.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield web
    finally:
        web.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
