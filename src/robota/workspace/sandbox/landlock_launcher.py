"""Builds walls with Landlock and seccomp around itself, then becomes the command. Run by path, with `python -I -S`.

    python -I -S landlock_launcher.py SPECIFICATION COMMAND...

SPECIFICATION is JSON: {"writable": [paths], "filter": hex, "network": bool}. It imports nothing of robota, because it
starts once per command and every import would be paid each time. Anything that fails ends with code 126 before the
command has run.
"""

import ctypes
import json
import os
import struct
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_SET_PDEATHSIG, SECCOMP_MODE_FILTER = 38, 22, 1, 2
PATH_BENEATH, SIGKILL = 1, 9
# Everything that writes, removes or makes, in the order the kernel learned it: ABI 1, then REFER (2), TRUNCATE (3).
WRITE_FILE, MAKE_AND_REMOVE, REFER, TRUNCATE = 1 << 1, 0x1FF << 4, 1 << 13, 1 << 14
NET_BIND_AND_CONNECT = 0x3


def main(arguments: "list[str]") -> None:
    specification = json.loads(arguments[0])
    libc = ctypes.CDLL(None, use_errno=True)
    checked(libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
    checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    restrict_files(libc, specification["writable"], network=specification["network"])
    restrict_calls(libc, bytes.fromhex(specification["filter"]))
    os.execvp(arguments[1], arguments[1:])


def restrict_files(libc: ctypes.CDLL, writable: "list[str]", *, network: bool) -> None:
    abi = libc.syscall(CREATE_RULESET, None, 0, 1)
    checked(abi)
    rights = WRITE_FILE | MAKE_AND_REMOVE | (REFER if abi >= 2 else 0) | (TRUNCATE if abi >= 3 else 0)
    ports = NET_BIND_AND_CONNECT if abi >= 4 and not network else 0
    attributes = struct.pack("=QQ", rights, ports) if abi >= 4 else struct.pack("=Q", rights)
    ruleset = checked(libc.syscall(CREATE_RULESET, attributes, len(attributes), 0))
    for path in writable:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed = rights if os.path.isdir(path) else rights & (WRITE_FILE | TRUNCATE)  # noqa: PTH112 - see above
        rule = struct.pack("=Qi", allowed, descriptor)
        checked(libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, rule, 0))
        os.close(descriptor)
    checked(libc.syscall(RESTRICT_SELF, ruleset, 0))


def restrict_calls(libc: ctypes.CDLL, program: bytes) -> None:
    if not program:
        return
    code = ctypes.create_string_buffer(program)
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    checked(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0))


def checked(result: int) -> int:
    if result < 0:
        error = os.strerror(ctypes.get_errno())
        sys.stderr.write(f"robota: the sandbox could not be built ({error}); the command was not run.\n")
        os._exit(126)
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
