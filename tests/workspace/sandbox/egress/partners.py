"""Who talks to each other in the tests of the way out: the proxy as a command meets it, and a server that remembers."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.sandbox.backend import SandboxKind, detect_backend
from robota.workspace.sandbox.border import build_border
from robota.workspace.sandbox.egress.allow_list import AllowList
from robota.workspace.sandbox.egress.gateway import CommandEgress, EgressGateway
from robota.workspace.sandbox.egress.relay import EgressLimits
from robota.workspace.web.address import Resolve, resolve_name

Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def require_bubblewrap(place: Path) -> None:
    """Skip the test where there is none."""
    found = detect_backend(build_border(HeldRoot(place), place, home=None))
    if found.kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(f"no bubblewrap: {found.reason}")


class Proxy:
    """The port that the launcher opened, here without walls around it."""

    def __init__(self, port: int, egress: CommandEgress) -> None:
        self.port = port
        self._egress = egress

    @property
    def refused(self) -> tuple[str, ...]:
        return self._egress.refused_hosts()

    async def say(self, data: bytes, *, then_end: bool = False) -> bytes:
        """Say this on a new connection, and hear everything until the other side ends."""
        reader, writer = await self.connect()
        try:
            writer.write(data)
            if then_end:
                writer.write_eof()
            return await reader.read()
        finally:
            writer.close()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)


@asynccontextmanager
async def proxy(
    *allowed: str, resolve: Resolve = resolve_name, limits: EgressLimits | None = None
) -> AsyncIterator[Proxy]:
    egress = CommandEgress(EgressGateway(AllowList(allowed, resolve), limits), sys.executable)
    try:
        command = egress.around(["printenv", "HTTP_PROXY"])
        run = asyncio.create_subprocess_exec(*command, pass_fds=egress.descriptors, stdout=subprocess.PIPE)
        said, _ = await (await run).communicate()
        yield Proxy(int(said.rpartition(b":")[2]), egress)
    finally:
        egress.close()


class Server:
    """A server on loopback. `heard` has, connection by connection, all that came."""

    def __init__(self) -> None:
        self.port = 0
        self.heard: list[bytes] = []

    @property
    def here(self) -> str:
        """The entry that allows it."""
        return f"127.0.0.1:{self.port}"

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        place = len(self.heard)
        self.heard.append(b"")
        answered = False
        try:
            while data := await reader.read(65536):
                self.heard[place] += data
                if not answered and _is_whole(self.heard[place]):
                    writer.write(OK)
                    answered = True
        finally:
            writer.close()


def _is_whole(request: bytes) -> bool:
    head, end, body = request.lower().partition(b"\r\n\r\n")
    if b"chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    length = head.partition(b"content-length: ")[2].split(b"\r\n")[0]
    return bool(end) and len(body) >= int(length or 0)


@asynccontextmanager
async def server(speak: Speak | None = None) -> AsyncIterator[Server]:
    """It answers `ok` to the first request of a connection, or does what `speak` says."""
    found = Server()
    listening = await asyncio.start_server(speak or found._answer, "127.0.0.1", 0)
    found.port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield found
