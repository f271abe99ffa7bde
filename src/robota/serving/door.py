"""The door of a running session: a socket through which other windows reach it."""

import asyncio
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from robota.app.session import OpenSession
from robota.config.durable_file import make_private_directory
from robota.config.paths import user_directory
from robota.log.chain.writer import wall_clock_ms
from robota.protocol.slash_commands import SessionWanted
from robota.transport.doors import (
    DIRECTORY,
    SUFFIX,
    announce_successor,
    forget_successor,
    short_path,
)

if TYPE_CHECKING:
    from robota.serving.doorkeeper import Doorkeeper


@asynccontextmanager
async def open_door(
    opened: OpenSession, env: Mapping[str, str], tell: Callable[[str], None]
) -> "AsyncIterator[Door | None]":
    """Open a door for other windows. If that fails, the session continues without one."""
    directory = user_directory(env) / DIRECTORY
    try:
        listening = _listening(directory, opened.options.session_id)
    except OSError as error:
        tell(f"Other windows cannot reach this session: {directory}: {error.strerror}.")
        yield None
        return
    door = Door(opened, env, listening)
    forget_successor(directory, opened.options.session_id)
    try:
        yield door
    finally:
        await door.close()


def _listening(directory: Path, session_id: str) -> socket.socket:
    make_private_directory(directory)
    name = session_id + SUFFIX
    with short_path(directory, name, alone=True) as path:
        # Only one process can have the log of the session open, so an existing socket was left by a process that has
        # ended.
        with suppress(FileNotFoundError):
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                os.unlink(path)  # noqa: PTH108 - not the path of a file, but a way to it
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # Other users cannot access the directory, so they cannot connect before the mode of the socket is set.
            listening.bind(path)
            os.chmod(path, 0o600)  # noqa: PTH101
            listening.listen()
            listening.setblocking(False)
        except OSError:
            listening.close()
            raise
    return listening


class Door:
    """Accepts connections. The doorkeeper is created when the first client connects."""

    def __init__(self, opened: OpenSession, env: Mapping[str, str], listening: socket.socket) -> None:
        self._opened = opened
        self._env = env
        self._listening = [listening]
        self._since_ms = wall_clock_ms()
        self._keeper: Doorkeeper | None = None
        self._closing: asyncio.Task[None] | None = None
        self._is_over = asyncio.Event()
        # As which a window wants this session to be opened again.
        self.wanted: SessionWanted | None = None
        # Another process may open the session as soon as it is closed, and makes a door of the same name.
        opened.at_close.callback(self._withdraw)
        asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    @property
    def windows(self) -> int:
        """How many clients are connected."""
        return 0 if self._keeper is None else self._keeper.clients

    def also_at(self, listening: socket.socket) -> None:
        """Let in those who come there, too, by the same rules."""
        self._listening.append(listening)
        asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def announce_successor(self) -> None:
        """Let windows know that the session is opened again after it was closed."""
        announce_successor(user_directory(self._env) / DIRECTORY, self._opened.options.session_id)

    def open_again(self, wanted: SessionWanted) -> None:
        """Close the session, which ends all its clients; whoever holds it opens it again as a window wants it."""
        self.wanted = wanted
        self.announce_successor()
        self.close_session()

    def close_session(self) -> None:
        """Close the session because a window wants that. It can be resumed."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._opened.close())
            self._closing.add_done_callback(lambda closing: self._is_over.set())

    @property
    def is_stopped(self) -> bool:
        """Whether a window has closed the session, and not to open it again."""
        return self._closing is not None and self.wanted is None

    async def is_closed_by_window(self) -> bool:
        """Return when the session is closed: whether a window did that. `wanted` says whether to open it again."""
        await self._is_over.wait()
        return self._closing is not None

    async def close(self) -> None:
        """Accept no more clients, and end all connections."""
        self._withdraw()
        self._is_over.set()
        if self._keeper is not None:
            await self._keeper.close()

    def _withdraw(self) -> None:
        """Remove the door while no other process can have made one of the same name."""
        for listening in self._listening:
            asyncio.get_running_loop().remove_reader(listening)
            listening.close()
        if self._listening:
            self._listening.clear()
            with suppress(OSError):
                (user_directory(self._env) / DIRECTORY / (self._opened.options.session_id + SUFFIX)).unlink()

    def _accept(self, listening: socket.socket) -> None:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        if self._keeper is None:
            from robota.serving.doorkeeper import Doorkeeper

            self._keeper = Doorkeeper(self._opened, self._env, self._since_ms, self)
        self._keeper.look_after(connection)
