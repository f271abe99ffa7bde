"""Forward ports of the user's machine to programs in the sandbox during a session."""

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
    """Listens on loopback only, never for other machines."""

    def __init__(self, network: SessionNetwork, ports_of_robota: Callable[[], frozenset[int]] = frozenset) -> None:
        """`ports_of_robota` are ports inside that Robota's proxy listens on, not a command."""
        self._network = network
        self._ports_of_robota = ports_of_robota
        self._named: set[int] = set()
        self._servers: dict[int, asyncio.Server] = {}
        self._asking = asyncio.Lock()
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)
        self._connections: set[asyncio.Task[None]] = set()

    async def listening_ports(self) -> tuple[int, ...]:
        """The ports inside that a command listens on."""
        return self.listening_now()

    def listening_now(self) -> tuple[int, ...]:
        """The same, for callers that cannot wait."""
        hidden = self._ports_of_robota()
        return tuple(port for port in self._network.listening_ports() if port not in hidden)

    async def new_ports(self) -> tuple[int, ...]:
        """The listening ports that no earlier call returned."""
        ports = [port for port in await self.listening_ports() if port not in self._named]
        self._named.update(ports)
        return tuple(ports)

    async def forward(self, port: int) -> int:
        """Forward a local port to the port inside; returns it: the same number, unless it is in use. `OSError`."""
        if port not in self._servers:

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await self.serve(StreamPair(reader=reader, writer=writer), port)

            try:
                self._servers[port] = await asyncio.start_server(serve, LOOPBACK, port)
            except OSError:
                self._servers[port] = await asyncio.start_server(serve, LOOPBACK, 0)
        number: int = self._servers[port].sockets[0].getsockname()[1]
        return number

    def close(self) -> None:
        """Stop all forwarding. Idempotent."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()
        for connection in self._connections:
            connection.cancel()

    async def serve(self, outside: StreamPair, port: int) -> None:
        """Connect this connection to a port inside until either side ends."""
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
