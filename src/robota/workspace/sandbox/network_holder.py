"""Hold the network namespace of a session's commands, which contains nothing but loopback.

    python -I -S network_holder.py SOCKET

SOCKET is one end of a socket pair; Robota has the other. First it sends the descriptors of the two namespaces; then it
answers each request, `connect PORT`, with a connected socket or with an error. It imports nothing from robota, runs no
other program, and exits when Robota closes its end or dies.
"""

import array
import ctypes
import fcntl
import os
import socket
import struct
import sys

NEW_USER_AND_NETWORK = 0x10000000 | 0x40000000
SET_FLAGS, UP_AND_RUNNING = 0x8914, 0x41
PR_SET_PDEATHSIG, SIGKILL = 1, 9
MAX_BYTES = 64


def main(descriptor: int) -> None:
    """Hold the network and answer requests until the other end is closed."""
    outside = socket.socket(fileno=descriptor)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    enter_new_namespaces()
    bring_up_loopback()
    namespaces = [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in ("user", "net")]
    send(outside, b"ready", namespaces)
    for each in namespaces:
        os.close(each)
    while request := outside.recv(MAX_BYTES):
        answer(outside, request.decode().split())


def enter_new_namespaces() -> None:
    """Enter a new network namespace, and a user namespace, which an ordinary user needs for that."""
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_USER_AND_NETWORK):
        raise OSError(ctypes.get_errno(), "no new namespace")
    for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as stream:  # noqa: PTH123 - pathlib takes longer to import
            stream.write(line)


def bring_up_loopback() -> None:
    """Bring up the loopback interface, which is down in a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh22x", b"lo", UP_AND_RUNNING))


def answer(outside: socket.socket, request: "list[str]") -> None:
    """Answer one request: a connection to a port."""
    try:
        connection = connected(int(request[1]))
        send(outside, b"connected", [connection.fileno()])
        connection.close()
    except (OSError, ValueError, IndexError) as error:
        send(outside, str(error).encode()[:MAX_BYTES] or b"failed")


def connected(port: int) -> socket.socket:
    """Connect by IPv4 or IPv6, because programs do not always listen on both."""
    try:
        return socket.create_connection(("127.0.0.1", port), 5)
    except OSError:
        return socket.create_connection(("::1", port), 5)


def send(outside: socket.socket, data: bytes, descriptors: "list[int] | None" = None) -> None:
    """Send an answer, with descriptors if any."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    outside.sendmsg([data], rights)


if __name__ == "__main__":
    main(int(sys.argv[1]))
