"""Connect to a running session through its door."""

import asyncio
import socket
from asyncio import StreamReader, StreamWriter
from pathlib import Path
from typing import Final

from robota.protocol.connection.lines import EventForm, ServerHello
from robota.transport.doors import SUFFIX, forget_successor, has_successor, remove_dead_door, short_path
from robota.transport.remote_session import NotConnected, RemoteSession, Unreachable
from robota.transport.socket_streams import socket_streams

# The session answers at once, unless its process hangs.
GREETING_S: Final = 10.0
# How long a session may take to be closed in one process and opened in another: 30 seconds.
LOOK_EVERY_S: Final = 0.05
LOOKS: Final = 600


async def enter(
    directory: Path, session_id: str, client: str, events: EventForm = EventForm.DELTAS
) -> tuple[RemoteSession, ServerHello]:
    """Connect to a running session. Raises `NotConnected`. The door of a process that has ended is removed."""
    try:
        reader, writer = await door_streams(directory, session_id)
    except ConnectionRefusedError as error:
        remove_dead_door(directory, session_id)
        raise NotConnected(f"The session {session_id} is not running.") from error
    except OSError as error:
        raise NotConnected(f"The session {session_id} cannot be reached: {error.strerror}.") from error
    session = RemoteSession(reader, writer)
    try:
        async with asyncio.timeout(GREETING_S):
            return session, await session.greet(client, events)
    except (TimeoutError, OSError) as error:
        await session.close()
        why = str(error) if isinstance(error, NotConnected) else "its process does not answer."
        kind = Unreachable if isinstance(error, Unreachable | TimeoutError) else NotConnected
        raise kind(f"The session {session_id} cannot be reached: {why}") from error


async def door_streams(directory: Path, session_id: str) -> tuple[StreamReader, StreamWriter]:
    """Connect to the socket of a session. One that refuses us says why and closes it. Raises `OSError`."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        with short_path(directory, session_id + SUFFIX) as path:
            await asyncio.get_running_loop().sock_connect(connection, path)
        return await socket_streams(connection)
    except BaseException:
        connection.close()
        raise


async def enter_again(directory: Path, session_id: str, client: str) -> tuple[RemoteSession, ServerHello] | None:
    """Connect to the process that continues a session which has just been closed; None if none does."""
    for _ in range(LOOKS):
        if not has_successor(directory, session_id):
            break
        await asyncio.sleep(LOOK_EVERY_S)
    try:
        return await enter(directory, session_id, client)
    except NotConnected:
        forget_successor(directory, session_id)
        return None
