"""The egress gateway: lets sandboxed commands connect to the allowed hosts through a proxy, and to nothing else.

The sandbox has its own network without a route to the outside. A launcher inside opens a port there and passes the
listening socket to Robota through a socket pair; Robota serves it. So there is no additional process, no socket file
that other processes could connect to, and the port disappears with the command.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.workspace.process.wrapped_command import NO_MORE_ACCESS, SandboxAccess, WrappedCommand
from robota.workspace.sandbox.backend import SandboxBackend
from robota.workspace.sandbox.bubblewrap import interpreter_inside
from robota.workspace.sandbox.egress.allow_list import AllowList
from robota.workspace.sandbox.egress.relay import EgressLimits, StreamPair

LAUNCHER: Final = Path(__file__).with_name("launcher.py")
# Inside, these are the sandbox itself, unless the list contains them: then they are the host machine.
INSIDE: Final = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
MAX_REFUSALS: Final = 20
# The kernel passes at most 253 descriptors at once.
MAX_SERVER_PORTS: Final = 100
# The delay after a temporary error, such as too many open files.
ACCEPT_AGAIN_S: Final = 0.5

ServeConnection = Callable[[socket.socket], Coroutine[Any, Any, None]]


class ServerPorts(msgspec.Struct, frozen=True, kw_only=True):
    """Ports of servers in the session's network; `serve` connects a connection to such a port.

    A command that does not share that network gets them on its own loopback.
    """

    numbers: tuple[int, ...]
    serve: Callable[[StreamPair, int], Awaitable[None]]


class EgressGateway:
    """The allow list and the connection limit of the commands that use it: all of a session, or one."""

    def __init__(
        self,
        allowed: AllowList,
        limits: EgressLimits | None = None,
        on_reached: Callable[[str], None] = lambda host: None,
    ) -> None:
        """`on_reached` is called with host and port whenever a command connects to a host."""
        self.allowed = allowed
        self.on_reached = on_reached
        self.limits = limits or EgressLimits()
        self.free_connections = asyncio.Semaphore(self.limits.connections)
        self.ports: set[int] = set()  # loopback ports inside that Robota listens on

    def wrap(
        self,
        backend: SandboxBackend,
        command: Sequence[str],
        cwd: Path,
        access: SandboxAccess = NO_MORE_ACCESS,
        servers: ServerPorts | None = None,
    ) -> WrappedCommand:
        """Wrap a command in a sandbox with the proxy as its only network; without the proxy if no Python is visible."""
        interpreter = interpreter_inside(backend.border)
        if interpreter is None:
            return backend.wrap(command, cwd, access)
        egress = CommandEgress(self, interpreter, servers)
        try:
            wrapped = backend.wrap(egress.around(command), cwd, access)
        except BaseException:
            egress.close()
            raise

        def clean_up() -> None:
            egress.close()
            wrapped.clean_up()

        descriptors = (*wrapped.descriptors, *egress.descriptors)
        return msgspec.structs.replace(
            wrapped, descriptors=descriptors, clean_up=clean_up, refused_hosts=egress.refused_hosts
        )


class CommandEgress:
    """The proxy of one command. Must be closed when the command has ended."""

    def __init__(self, gateway: EgressGateway, interpreter: str, servers: ServerPorts | None = None) -> None:
        """Needs a running event loop. `interpreter` is a Python that is visible inside."""
        self._gateway = gateway
        self._interpreter = interpreter
        self._servers = servers
        self._refused: dict[str, None] = {}
        self._serving: list[asyncio.Task[None]] = []
        self._loop = asyncio.get_running_loop()
        self._script = os.open(LAUNCHER, os.O_RDONLY | os.O_CLOEXEC)
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._loop.add_reader(self._ours, self._take_listener)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The file descriptors that the launcher must inherit."""
        return (self._script, self._theirs.fileno())

    def around(self, command: Sequence[str]) -> list[str]:
        """The command line of the launcher for this command."""
        script, exit_socket = self.descriptors
        inside = (*INSIDE, socket.gethostname())
        no_proxy = ",".join(host for host in inside if not self._gateway.allowed.names(host))
        numbers = self._servers.numbers[:MAX_SERVER_PORTS] if self._servers is not None else ()
        options = (str(script), str(exit_socket), no_proxy, ",".join(map(str, numbers)))
        return [self._interpreter, "-I", "-S", f"/proc/self/fd/{script}", *options, *command]

    def refused_hosts(self) -> tuple[str, ...]:
        """A sentence for each host that was refused, up to `MAX_REFUSALS`."""
        return tuple(self._refused)

    def close(self) -> None:
        """Remove it. Idempotent."""
        for serving in self._serving:
            serving.cancel()
        if self._script >= 0:
            os.close(self._script)
            self._script = -1
        self._close_pair()

    def _close_pair(self) -> None:
        if self._ours.fileno() >= 0:
            self._loop.remove_reader(self._ours)
        self._ours.close()
        self._theirs.close()

    def _take_listener(self) -> None:
        descriptors: list[int] = []
        with suppress(OSError):
            count = 1 + MAX_SERVER_PORTS
            _, descriptors, _, _ = socket.recv_fds(self._ours, 1, count, socket.MSG_CMSG_CLOEXEC)
        self._close_pair()
        for index, descriptor in enumerate(descriptors):
            listener = socket.socket(fileno=descriptor)
            listener.setblocking(False)
            port: int = listener.getsockname()[1]
            if index == 0:
                self._gateway.ports.add(port)
                self._start_serving(listener, port, self._serve_proxy)
            elif self._servers is not None:
                self._start_serving(listener, port, partial(self._serve_server, self._servers, port))

    def _start_serving(self, listener: socket.socket, port: int, serve: ServeConnection) -> None:
        serving = self._loop.create_task(self._serve(listener, serve))
        serving.add_done_callback(lambda _: self._stop_listening(listener, port))
        self._serving.append(serving)

    def _stop_listening(self, listener: socket.socket, port: int) -> None:
        listener.close()
        self._gateway.ports.discard(port)

    async def _serve(self, listener: socket.socket, serve: ServeConnection) -> None:
        """Accept connections until cancelled. Above the limit, connections wait."""
        async with asyncio.TaskGroup() as connections:
            while True:
                connection = await self._accepted(listener)
                try:
                    await self._gateway.free_connections.acquire()
                except BaseException:
                    connection.close()
                    raise
                serving = connections.create_task(serve(connection))
                serving.add_done_callback(partial(self._release, connection))

    async def _accepted(self, listener: socket.socket) -> socket.socket:
        while True:
            with suppress(OSError):
                connection, _ = await self._loop.sock_accept(listener)
                return connection
            await asyncio.sleep(ACCEPT_AGAIN_S)

    def _release(self, connection: socket.socket, serving: "asyncio.Task[None]") -> None:
        connection.close()
        self._gateway.free_connections.release()

    async def _serve_server(self, servers: ServerPorts, port: int, connection: socket.socket) -> None:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(sock=connection)
            await servers.serve(StreamPair(reader=reader, writer=writer), port)

    async def _serve_proxy(self, connection: socket.socket) -> None:
        # Imported only when a command uses it: the import takes longer than starting a command.
        from robota.workspace.sandbox.egress.proxy import ProxyConnection

        with suppress(OSError):
            reader, writer = await asyncio.open_connection(sock=connection)
            stream = StreamPair(reader=reader, writer=writer)
            gateway = self._gateway
            connection_of = partial(ProxyConnection, stream, gateway.allowed, gateway.limits)
            await connection_of(self._note_refusal, gateway.on_reached).serve()

    def _note_refusal(self, refusal: str) -> None:
        if len(self._refused) < MAX_REFUSALS:
            self._refused[refusal] = None
