"""Decides which clients may use the door of a session: those of the same user, unless an agent started them."""

import asyncio
import os
import select
import socket
import struct
from asyncio import StreamReader, StreamWriter
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Protocol

import msgspec

from robota.app.session import OpenSession
from robota.commands.session_commands import with_commands
from robota.commands.speaking import SpokenFor, speaker_of
from robota.log.errors import LogError
from robota.log.kinds.calls import AnsweredBy
from robota.log.record import Payload, record_kind
from robota.protocol.codec import encode
from robota.protocol.connection.lines import LineProblem
from robota.protocol.slash_commands import SessionWanted
from robota.serving.door_port import DoorPort
from robota.serving.greeting import greeting_of
from robota.transport.served_stream import ServedStream
from robota.transport.socket_streams import socket_streams
from robota.workspace.agent_mark import is_of_agent

MAX_CLIENTS: Final = 64
PAUSE_FOR_EACH_S: Final = 0.0015
CREDENTIALS: Final = struct.Struct("3i")
# SO_PEERPIDFD, since Linux 6.5; Python does not name it yet.
PEER_PIDFD: Final = 77
OTHER_USER: Final = "it belongs to another user"
BY_AGENT: Final = "it was started by an agent of Robota, and an agent must not answer its own questions"
UNKNOWN: Final = "it cannot be determined who started it"
TOO_MANY: Final = f"{MAX_CLIENTS} windows are open already"
# A program can connect thousands of times a second, and must not fill the log that way.
MAX_LOGGED: Final = 100
CHUNK_BYTES: Final = 64 * 1024


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """A process that has connected."""

    uid: int
    speaker: AnsweredBy


@record_kind("clientRefused")
class ClientRefusedRecord(Payload, frozen=True, kw_only=True):
    """A process was refused."""

    pid: int
    uid: int
    program: str
    reason: str


class LeadsIn(Protocol):
    """The door that clients have come through."""

    def open_again(self, wanted: SessionWanted) -> None: ...

    def close_session(self) -> None: ...


class Doorkeeper:
    """Examines each client, and serves or refuses it."""

    def __init__(
        self,
        opened: OpenSession,
        env: Mapping[str, str],
        since_ms: int,
        door: LeadsIn,
    ) -> None:
        self._opened = opened
        self._door = door
        self._session = with_commands(opened, env, "")
        self._hello = greeting_of(opened, since_ms)
        self._serving: set[asyncio.Task[None]] = set()
        self._refused = 0

    @property
    def clients(self) -> int:
        """How many clients are being served."""
        return len(self._serving)

    def _pause_s(self) -> float:
        """The more windows, the less often each gets what is streamed, so that together they cost the agent little."""
        return PAUSE_FOR_EACH_S * (self.clients - 1)

    async def close(self) -> None:
        """End all connections."""
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def look_after(self, connection: socket.socket) -> None:
        """Serve the client, or tell it why it is refused."""
        peer = _peer_of(connection)
        reason = TOO_MANY if len(self._serving) >= MAX_CLIENTS else _reason_against(connection, peer)
        if reason is not None:
            self._refuse(connection, peer, reason)
            return
        task = asyncio.create_task(self._let_in(connection, peer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    def _refuse(self, connection: socket.socket, peer: Peer, reason: str) -> None:
        """Send the reason and close the connection at once: a refused client must not cost anything."""
        who = peer.speaker
        self._refused += 1
        if self._refused <= MAX_LOGGED:
            record = ClientRefusedRecord(pid=who.pid, uid=peer.uid, program=who.program, reason=reason)
            with suppress(LogError):
                self._opened.log.append(record)
        message = f"Process {who.pid} ({who.program}) may not reach this session: {reason}. Nothing was changed."
        with connection, suppress(OSError):
            connection.setblocking(False)
            connection.send(encode(LineProblem(code="not_let_in", message=message)) + b"\n")
            # With unread input, the kernel would reset the connection, and the client would not get the reason.
            connection.shutdown(socket.SHUT_RD)
            while connection.recv(CHUNK_BYTES):
                pass

    async def _let_in(self, connection: socket.socket, peer: Peer) -> None:
        reader, writer = await socket_streams(connection)
        try:
            await self._serve(reader, writer, peer)
        except OSError:
            pass  # the client has gone
        finally:
            writer.close()

    async def _serve(self, reader: StreamReader, writer: StreamWriter, peer: Peer) -> None:
        def speaker() -> AnsweredBy:
            return msgspec.structs.replace(peer.speaker, client=client.client)

        spoken_for = SpokenFor(self._session, speaker)
        port = DoorPort(spoken_for, self._opened.options.session_id, self._door.open_again)
        client = ServedStream(
            port, reader, writer, hello=self._hello, on_stop=self._door.close_session, pause_s=self._pause_s
        )
        try:
            await client.run()
            await client.until_answered()  # what was sent counts, although the client does not wait for it
            await self._opened.until_closed()  # a client that waits for the end may open the session again at once
            await client.close()
        except asyncio.CancelledError:
            await client.finish()
            raise


def _peer_of(connection: socket.socket) -> Peer:
    """The process that connected, as recorded by the kernel at that time."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    pid, uid, _ = CREDENTIALS.unpack(credentials)
    return Peer(uid=uid, speaker=speaker_of(pid, ""))


def _reason_against(connection: socket.socket, peer: Peer) -> str | None:
    """Why the process is refused; None if it is admitted."""
    if peer.uid != os.geteuid():
        return OTHER_USER
    if peer.speaker.pid <= 0:
        return UNKNOWN
    try:
        if is_of_agent(peer.speaker.pid):
            return BY_AGENT
    except OSError:
        return UNKNOWN
    # The process id may have been reused since, and then the mark of another process was read.
    return UNKNOWN if _has_ended(connection) else None


def _has_ended(connection: socket.socket) -> bool:
    try:
        descriptor = connection.getsockopt(socket.SOL_SOCKET, PEER_PIDFD)
    except OSError:
        return False  # the kernel is too old to tell
    try:
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        return bool(waiting.poll(0))
    finally:
        os.close(descriptor)
