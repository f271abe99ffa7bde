"""Ports of the person's machine that lead to programs in the sandbox, while the session lives."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from robota.workspace.sandbox.egress.relay import StreamPair, tunnel
from robota.workspace.sandbox.session_network import SessionNetwork

LOOPBACK: Final = "127.0.0.1"
MAX_CONNECTIONS: Final = 64
IDLE_S: Final = 600.0


class PortForwarding:
    """Listens on the person's loopback only, never for other machines."""

    def __init__(self, network: SessionNetwork, ports_of_robota: Callable[[], frozenset[int]] = frozenset) -> None:
        """`ports_of_robota` are those inside on which no command listens, but Robota for them."""
        self._network = network
        self._ports_of_robota = ports_of_robota
        self._named: set[int] = set()
        self._servers: dict[int, asyncio.Server] = {}
        self._asking = asyncio.Lock()
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)
        self._connections: set[asyncio.Task[None]] = set()

    async def listening_ports(self) -> tuple[int, ...]:
        """The ports inside on which somebody listens."""
        hidden = self._ports_of_robota()
        async with self._asking:
            found = await asyncio.to_thread(self._network.listening_ports)
        return tuple(port for port in found if port not in hidden | self._ports_of_robota())

    async def new_ports(self) -> tuple[int, ...]:
        """Those of them that no earlier call has named."""
        found = [port for port in await self.listening_ports() if port not in self._named]
        self._named.update(found)
        return tuple(found)

    async def forward(self, port: int) -> int:
        """The port of the machine that leads to that one inside: the same, unless it is taken. Raises `OSError`."""
        if port not in self._servers:

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await self._serve(StreamPair(reader=reader, writer=writer), port)

            try:
                self._servers[port] = await asyncio.start_server(serve, LOOPBACK, port)
            except OSError:
                self._servers[port] = await asyncio.start_server(serve, LOOPBACK, 0)
        number: int = self._servers[port].sockets[0].getsockname()[1]
        return number

    def close(self) -> None:
        """End all of them. Doing it twice does nothing."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()
        for connection in self._connections:
            connection.cancel()

    async def _serve(self, outside: StreamPair, port: int) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            async with self._free:
                await self._connect(outside, port)
        except asyncio.CancelledError:
            pass  # the session ends
        finally:
            self._connections.discard(task)
            outside.abort()

    async def _connect(self, outside: StreamPair, port: int) -> None:
        with suppress(OSError):
            async with self._asking:
                connection = await asyncio.to_thread(self._network.connect, port)
            reader, writer = await asyncio.open_connection(sock=connection)
            inside = StreamPair(reader=reader, writer=writer)
            try:
                await tunnel(outside, inside, IDLE_S)
                await outside.close()
            finally:
                inside.abort()
