"""The HTTP server of the page."""

import asyncio
import socket
import ssl
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from uvicorn.config import Config
from uvicorn.server import ServerState

from robota.serving.web.checked_connection import CheckedConnection
from robota.serving.web.devices import Devices
from robota.serving.web.guard import Address, RequestGuard
from robota.serving.web.letting_in import LettingIn
from robota.serving.web.pages_host import PagesHost
from robota.serving.web.routes import Routes

# Pages of one browser share a few connections; beyond this, requests are refused until others end.
MAX_CONNECTIONS: Final = 1_000
KEPT_ALIVE_S: Final = 60
BACKLOG: Final = 128


def listening(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 is any free one. Raises `OSError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def tls_from(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """The TLS of a server with this certificate. Raises `OSError`."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    return context


@asynccontextmanager
async def serving_pages(
    sock: socket.socket,
    address: Address,
    host: PagesHost,
    devices: Devices,
    *,
    tell: Callable[[str], None],
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[None]:
    """Serve pages at a socket until the end of the context."""
    app = RequestGuard(Routes(host, LettingIn(devices, address, tell)).app(), address, devices, _report)
    config = Config(
        app,
        http=CheckedConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEPT_ALIVE_S,
        limit_concurrency=MAX_CONNECTIONS,
    )
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: CheckedConnection(config=config, server_state=state, app_state={}), sock=sock, ssl=tls
    )
    try:
        yield
    finally:
        server.close()
        await host.shut_down()
        for connection in list(state.connections):
            if (transport := getattr(connection, "transport", None)) is not None:
                transport.abort()
        await asyncio.gather(*state.tasks, return_exceptions=True)


def _report(error: Exception) -> None:
    """Tell whoever runs the server of a bug; secrets are in no traceback, because no locals are shown."""
    sys.stderr.write("robota: a request of the page failed:\n")
    traceback.print_exception(error, file=sys.stderr)
