"""Refuses every network but loopback, in this process. Python imports it at start when its directory is on PYTHONPATH.

An audit hook sees what no patched function can hide, and importing nothing keeps start-up tests honest. (libc looks a
name up before the hook sees a bare `sock.connect((name, port))`; the connection itself is refused all the same.)
"""

import sys

LOCAL_NAMES = frozenset({"", "localhost", "localhost.localdomain", "ip6-localhost", "::1"})
ADDRESS_PLACE = {"socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1}
HOST_PLACE = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.gethostbyaddr": 0}


class NetworkRefusedError(RuntimeError):
    """Not an OSError, so that no code takes it for an ordinary network fault and goes on."""


def guard(event: str, args: tuple[object, ...]) -> None:
    if event in ADDRESS_PLACE:
        address = args[ADDRESS_PLACE[event]]
        if not is_local_address(address):
            refuse(event, address)
    elif event in HOST_PLACE:
        host = args[HOST_PLACE[event]]
        if not is_local_host(host):
            refuse(event, host)


def is_local_address(address: object) -> bool:
    """A path (AF_UNIX), nothing at all (the peer is already connected), or a loopback host with a port."""
    if address is None or isinstance(address, str | bytes):
        return True
    return isinstance(address, tuple) and len(address) > 0 and is_local_host(address[0])


def is_local_host(host: object) -> bool:
    if host is None:
        return True
    text = bytes(host).decode("ascii", "replace") if isinstance(host, bytes | bytearray) else host
    if not isinstance(text, str):
        return False
    return text.lower() in LOCAL_NAMES or (text.startswith("127.") and text.replace(".", "").isdigit())


def refuse(event: str, target: object) -> None:
    raise NetworkRefusedError(f"{event} to {target!r} refused: tests may use loopback and Unix sockets only")


sys.addaudithook(guard)
