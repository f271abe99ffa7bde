"""Which process connects over TCP on this machine: an agent must not answer its own questions there either.

The kernel lists the sockets of this machine with their owners. A connection from here is served only if it belongs to a
process of the same user, and to none that an agent has started. A connection from another machine is in no list.
"""

import ipaddress
import os
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.agent_mark import is_of_agent

TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
# The columns of these tables.
LOCAL, REMOTE, UID, INODE = 1, 2, 7, 9
BY_AGENT: Final = "it was started by an agent of Robota, and an agent must not answer its own questions"
OTHER_USER: Final = "it belongs to another user"
UNKNOWN: Final = "it cannot be found out which process it is"

Address = tuple[str, int]
Host = ipaddress.IPv4Address | ipaddress.IPv6Address


class OwnSocket(msgspec.Struct, frozen=True):
    """The end of a connection that is on this machine."""

    uid: int
    inode: int


def reason_against(client: Address, server: Address) -> str | None:
    """Why the peer of a connection may not be served; None if it may."""
    socket = _socket_of(client, server)
    if socket is None:
        return UNKNOWN if ipaddress.ip_address(client[0].partition("%")[0]).is_loopback else None
    if socket.uid != os.geteuid():
        return OTHER_USER
    if not socket.inode:  # whoever had it has closed it
        return UNKNOWN
    return _reason_against_owners(f"socket:[{socket.inode}]")


def _reason_against_owners(link: str) -> str | None:
    """No owner may be of an agent. The files of some programs, such as sshd, cannot be read, and a program can make its
    own unreadable: one of these may be the owner, unless one of an agent may be it just as well."""
    may_be_owned = may_be_an_agents = is_owned = False
    for pid in _own_processes():
        try:
            holds = _holding(pid, link)
            if holds is Holding.NO:
                continue
            is_agent = is_of_agent(pid)
        except OSError:
            continue  # it has ended
        if is_agent and holds is Holding.YES:
            return BY_AGENT
        is_owned = is_owned or holds is Holding.YES
        may_be_an_agents = may_be_an_agents or is_agent
        may_be_owned = may_be_owned or not is_agent
    if is_owned:
        return None
    if may_be_an_agents:
        return BY_AGENT
    return None if may_be_owned else UNKNOWN


class Holding(Enum):
    """Whether a process has a socket."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


def _holding(pid: int, link: str) -> Holding:
    try:
        return Holding.YES if _holds(pid, link) else Holding.NO
    except PermissionError:
        return Holding.UNKNOWN


def _holds(pid: int, link: str) -> bool:
    directory = f"/proc/{pid}/fd"
    for name in os.listdir(directory):  # noqa: PTH208 - names are enough, and there are thousands
        with suppress(FileNotFoundError):
            if os.readlink(f"{directory}/{name}") == link:  # noqa: PTH115
                return True
    return False


def _own_processes() -> Iterator[int]:
    own = os.geteuid()
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            with suppress(OSError):
                if entry.stat().st_uid == own or own == 0:
                    yield int(entry.name)


def _socket_of(client: Address, server: Address) -> OwnSocket | None:
    ends = (_endpoint(client), _endpoint(server))
    for table in TABLES:
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if (_listed(fields[LOCAL]), _listed(fields[REMOTE])) == ends:
                return OwnSocket(uid=int(fields[UID]), inode=int(fields[INODE]))
    return None


def _endpoint(address: Address) -> tuple[int, int]:
    host = ipaddress.ip_address(address[0].partition("%")[0])
    return int(_without_mapping(host)), address[1]


def _listed(field: str) -> tuple[int, int]:
    """An address as the kernel writes it: words of 32 bits, each in the order of this machine's bytes."""
    words, _, port = field.partition(":")
    raw = b"".join(bytes.fromhex(words[at : at + 8])[::-1] for at in range(0, len(words), 8))
    return int(_without_mapping(ipaddress.ip_address(raw))), int(port, 16)


def _without_mapping(host: Host) -> Host:
    mapped = host.ipv4_mapped if isinstance(host, ipaddress.IPv6Address) else None
    return host if mapped is None else mapped
