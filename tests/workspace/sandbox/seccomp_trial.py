"""Run as a process: loads a filter for system calls around itself, tries things, and prints what came of them.

python seccomp_trial.py HEX
"""

import ctypes
import fcntl
import json
import os
import platform
import socket
import struct
import sys
import threading
from collections.abc import Callable

from robota.workspace.sandbox.seccomp import CLONE, CLONE3, REFUSED_CALLS

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
TIOCSTI, SIGCHLD, CLONE_NEWUSER = 0x5412, 17, 0x10000000
COLUMN = ["x86_64", "aarch64"].index(platform.machine())
# These would do something to the machine if the filter let them through.
NOT_TRIED = {"reboot", "vhangup", "swapoff", "acct", "settimeofday", "clock_settime", "sethostname", "setdomainname"}

libc = ctypes.CDLL(None, use_errno=True)


def main(program: bytes) -> None:
    load(program)
    numbers = {name: pair[COLUMN] for name, pair in REFUSED_CALLS.items() if name not in NOT_TRIED}
    print(
        json.dumps(
            {
                "refused": {name: system_call(number) for name, number in numbers.items() if number is not None},
                "clone3": system_call(CLONE3[COLUMN]),
                "clone with namespaces": system_call(CLONE[COLUMN], CLONE_NEWUSER | SIGCHLD),
                "fork": fork(),
                "threads": outcome(lambda: threading.Thread(target=int).start()),
                "TIOCSTI": outcome(lambda: fcntl.ioctl(0, TIOCSTI, b"x")),
                "socketpair": outcome(socket.socketpair),
                "unix": opened(socket.AF_UNIX),
                "inet udp": opened(socket.AF_INET, socket.SOCK_DGRAM),
                "netlink": opened(socket.AF_NETLINK, socket.SOCK_RAW),
                "vsock": opened(socket.AF_VSOCK),
                "packet": opened(socket.AF_PACKET, socket.SOCK_RAW),
                "alg": opened(socket.AF_ALG, socket.SOCK_SEQPACKET),
            }
        )
    )


def load(program: bytes) -> None:
    code = ctypes.create_string_buffer(program)
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(PR_SET_SECCOMP, MODE_FILTER, header, 0, 0) == 0


def system_call(number: int | None, *arguments: int) -> int:
    """With arguments that mean nothing, so that nothing happens should it be let through."""
    padded = [ctypes.c_long(argument) for argument in (*arguments, *[-1] * (5 - len(arguments)))]
    result = libc.syscall(ctypes.c_long(number or 0), *padded)
    if result == 0 and arguments:  # the new process of a clone that was let through
        os._exit(0)
    return ctypes.get_errno() if result == -1 else 0


def outcome(attempt: Callable[[], object]) -> int:
    try:
        attempt()
    except OSError as error:
        return error.errno or -1
    return 0


def opened(family: int, kind: int = socket.SOCK_STREAM) -> int:
    return outcome(lambda: socket.socket(family, kind).close())


def fork() -> int:
    child = os.fork()
    if child == 0:
        os._exit(0)
    return os.waitpid(child, 0)[1]


if __name__ == "__main__":
    main(bytes.fromhex(sys.argv[1]))
