"""Git over real HTTPS to a server that redirects to another place."""

import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from tests.harness.cli import Robota


class Redirecting(ThreadingHTTPServer):
    """Redirects every request to another path on itself, and records the requests."""

    def __init__(self, ca: trustme.CA) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca.issue_cert("127.0.0.1").configure_cert(context)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.asked: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        assert isinstance(self.server, Redirecting)
        self.server.asked.append(self.path)
        self.send_response(302)
        self.send_header("Location", self.path.replace("/first/", "/second/"))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""


@pytest.fixture
def server(home: Path) -> Iterator[Redirecting]:
    ca = trustme.CA()
    ca.cert_pem.write_to_path(home / "ca.pem")
    (home / ".gitconfig").write_text(f"[http]\n\tsslCAInfo = {home / 'ca.pem'}\n")
    with Redirecting(ca) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_a_redirect_is_not_followed(robota: Robota, server: Redirecting) -> None:
    address = f"https://127.0.0.1:{server.server_address[1]}/first/market.git"
    for order in (("marketplace", "add", address), ("install", address, "--yes")):
        refused = robota("plugin", *order)
        assert refused.code == 1 and "cannot be fetched" in refused.stderr and "Nothing was changed" in refused.stderr
    assert server.asked and all(path.startswith("/first/") for path in server.asked)
