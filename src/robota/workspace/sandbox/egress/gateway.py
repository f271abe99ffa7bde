"""The way out of the sandbox for commands: to the hosts on a list, and to nobody else.

The sandbox has a network of its own that leads nowhere. A launcher inside opens a port there and hands the listening
socket out through a pair of sockets; Robota answers on it. So there is no process beside the command, no file that
anybody could connect to, and when the command is gone so is the port.
"""

import asyncio
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.sandbox.egress.allow_list import AllowList
from robota.workspace.sandbox.egress.limits import Bounds
from robota.workspace.sandbox.egress.relay import Line
from robota.workspace.sandbox.profile import Profile
from robota.workspace.sandbox.sandbox import Sandbox
from robota.workspace.sandbox.wrapped_command import Wrapped

LAUNCHER: Final = Path(__file__).with_name("launcher.py")
# Inside, these are the sandbox itself, unless the list says that they are the machine around it.
INSIDE: Final = ("localhost", "127.0.0.1", "::1")
MOST_REFUSALS: Final = 20
# After an error that passes, such as too many open files.
ACCEPT_AGAIN_S: Final = 0.5


class WaysOut:
    """For all commands of a session: one list, and so many lines for all of them together."""

    def __init__(self, allowed: AllowList, bounds: Bounds | None = None) -> None:
        self.allowed = allowed
        self.bounds = bounds or Bounds()
        self.free_lines = asyncio.Semaphore(self.bounds.connections)

    def wrap(self, sandbox: Sandbox, command: Sequence[str], cwd: Path) -> Wrapped:
        """The command in a sandbox without network, but with a proxy; without that where no Python is seen inside."""
        interpreter = interpreter_inside(sandbox.profile)
        if interpreter is None:
            return sandbox.wrap(command, cwd)
        egress = Egress(self, interpreter)
        try:
            walled = sandbox.wrap(egress.around(command), cwd)
        except BaseException:
            egress.close()
            raise

        def clean_up() -> None:
            egress.close()
            walled.clean_up()

        descriptors = (*walled.descriptors, *egress.descriptors)
        return msgspec.structs.replace(walled, descriptors=descriptors, clean_up=clean_up, refused=egress.refused)


class Egress:
    """The way out of one command. Must be closed when the command has ended."""

    def __init__(self, ways: WaysOut, interpreter: str) -> None:
        """Within an event loop. `interpreter` is a Python that can be seen inside."""
        self._ways = ways
        self._interpreter = interpreter
        self._refused: dict[str, None] = {}
        self._serving: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._script = os.open(LAUNCHER, os.O_RDONLY | os.O_CLOEXEC)
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._loop.add_reader(self._ours, self._take_listener)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What the launcher must be started with."""
        return (self._script, self._theirs.fileno())

    def around(self, command: Sequence[str]) -> list[str]:
        """The command behind the launcher."""
        script, exit_socket = self.descriptors
        no_proxy = ",".join(host for host in INSIDE if not self._ways.allowed.names(host))
        launcher = [self._interpreter, "-I", "-S", f"/proc/self/fd/{script}", str(script), str(exit_socket), no_proxy]
        return [*launcher, *command]

    def refused(self) -> tuple[str, ...]:
        """A sentence about each host that the command was not let through to; the first few of many."""
        return tuple(self._refused)

    def close(self) -> None:
        """Doing it twice does nothing."""
        if self._serving is not None:
            self._serving.cancel()
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
            _, descriptors, _, _ = socket.recv_fds(self._ours, 1, 1, socket.MSG_CMSG_CLOEXEC)
        self._close_pair()
        if descriptors:
            listener = socket.socket(fileno=descriptors[0])
            listener.setblocking(False)
            self._serving = self._loop.create_task(self._serve(listener))
            self._serving.add_done_callback(lambda _: listener.close())

    async def _serve(self, listener: socket.socket) -> None:
        """Answer until cancelled. Whoever comes when all lines are busy waits for a free one."""
        async with asyncio.TaskGroup() as conversations:
            while True:
                connection = await self._accepted(listener)
                try:
                    await self._ways.free_lines.acquire()
                except BaseException:
                    connection.close()
                    raise
                talk = conversations.create_task(self._converse(connection))
                talk.add_done_callback(partial(self._hung_up, connection))

    async def _accepted(self, listener: socket.socket) -> socket.socket:
        while True:
            with suppress(OSError):
                connection, _ = await self._loop.sock_accept(listener)
                return connection
            await asyncio.sleep(ACCEPT_AGAIN_S)

    def _hung_up(self, connection: socket.socket, talk: "asyncio.Task[None]") -> None:
        connection.close()
        self._ways.free_lines.release()

    async def _converse(self, connection: socket.socket) -> None:
        # Not before a command uses it: to import it takes longer than to start one.
        from robota.workspace.sandbox.egress.proxy import Conversation

        with suppress(OSError):
            reader, writer = await asyncio.open_connection(sock=connection)
            line = Line(reader=reader, writer=writer)
            await Conversation(line, self._ways.allowed, self._ways.bounds, self._remember).hold()

    def _remember(self, refusal: str) -> None:
        if len(self._refused) < MOST_REFUSALS:
            self._refused[refusal] = None


def interpreter_inside(profile: Profile) -> str | None:
    """A Python that a command in this sandbox can see; None if there is none."""
    own = Path(sys.executable).resolve()
    return next((str(place) for place in (own, Path("/usr/bin/python3")) if _is_seen(place, profile)), None)


def _is_seen(place: Path, profile: Profile) -> bool:
    """Whether the walls let it be seen; /tmp is another one inside."""
    covered = (Path("/tmp"), *profile.doors, *profile.hidden_directories)
    return place.is_file() and not any(place.is_relative_to(each) for each in covered)
