"""The network that commands of a session share: only loopback, held by a separate process.

A command joins it with `nsenter`, which enters the namespaces and executes bubblewrap. That takes a few milliseconds,
so only background processes and commands that run at the same time join it.
"""

import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL
from typing import Final

import msgspec

from robota.workspace.outside_program import find_program, start_outside

HOLDER: Final = Path(__file__).with_name("network_holder.py")
START_S: Final = 10.0
ANSWER_S: Final = 10.0
MAX_BYTES: Final = 4096
CONNECTED: Final = b"connected"
LISTENING: Final = "0A"  # the state of a listening socket in /proc/net/tcp


class JoinedNetwork(msgspec.Struct, frozen=True, kw_only=True):
    """The prefix of a command line that runs it in the network of the session."""

    prefix: tuple[str, ...]


class SessionNetwork:
    """Exists until `close`. Raises `OSError` if this machine does not permit such a network."""

    def __init__(self, root: Path, environment: Mapping[str, str] = os.environ) -> None:
        """`nsenter` is never taken from below `root`."""
        nsenter = find_program("nsenter", environment, not_beneath=root)
        if nsenter is None:
            raise FileNotFoundError("nsenter is not installed")
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._namespaces: list[int] = []
        with theirs:
            self._holder = start_outside(
                [os.path.realpath(sys.executable), "-I", "-S", str(HOLDER), str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=DEVNULL,
                workspace=root,
                env={},
            )
        try:
            self._ours.settimeout(START_S)
            _, self._namespaces, _, _ = socket.recv_fds(self._ours, MAX_BYTES, 2, socket.MSG_CMSG_CLOEXEC)
            if len(self._namespaces) != 2:
                raise OSError("no namespaces came")
        except OSError:
            self.close()
            raise
        self._ours.settimeout(ANSWER_S)
        # The paths go through our own descriptors: the holder's are not accessible, and none are inherited.
        user, network = (f"/proc/{os.getpid()}/fd/{each}" for each in self._namespaces)
        self.joined = JoinedNetwork(
            prefix=(nsenter, f"--user={user}", f"--net={network}", "--preserve-credentials", "--")
        )

    def listening_ports(self) -> tuple[int, ...]:
        """The TCP ports that a command listens on."""
        tables = (Path(f"/proc/{self._holder.pid}/net/{name}") for name in ("tcp", "tcp6"))
        return tuple(sorted({port for table in tables for port in _listening(table)}))

    def connect(self, port: int) -> socket.socket:
        """A non-blocking connection to a loopback port inside. Raises `OSError`."""
        answer, descriptors = self._asked(f"connect {port}")
        if answer != CONNECTED or not descriptors:
            raise ConnectionRefusedError(answer.decode("utf-8", "replace"))
        connection = socket.socket(fileno=descriptors[0])
        connection.setblocking(False)
        return connection

    def close(self) -> None:
        """End the process that holds the network. Idempotent."""
        self._ours.close()
        for descriptor in self._namespaces:
            os.close(descriptor)
        self._namespaces = []
        with suppress(OSError):
            self._holder.kill()
        self._holder.wait()

    def _asked(self, request: str) -> tuple[bytes, list[int]]:
        self._ours.send(request.encode())
        answer, descriptors, _, _ = socket.recv_fds(self._ours, MAX_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
        return answer, descriptors


def _listening(table: Path) -> list[int]:
    """The ports of the listening sockets in a table of the kernel; none if IPv6, or the network, is not there."""
    try:
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return []
    return [int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == LISTENING]
