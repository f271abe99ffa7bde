"""Cut a command off from abstract Unix sockets of other programs, then execute it. Run with `python -I -S`.

    python -I -S /proc/self/fd/SCRIPT SCRIPT COMMAND...

SCRIPT is a descriptor of this file, because its path may not be visible inside. It imports as little as possible,
because it starts once per command. On any failure it exits with code 126 before the command has run.
"""

import os
import sys

CREATE_RULESET, RESTRICT_SELF = 444, 446
PR_SET_NO_NEW_PRIVS = 38
# No rights to files (8 bytes) and ports (8 bytes) are restricted; then the scopes: abstract Unix sockets.
ONLY_ABSTRACT_SOCKETS = bytes(16) + (1).to_bytes(8, sys.byteorder)

# The C modules below `signal` and `ctypes`: those two take longer to import than all the rest.
SIGNALS, C = __import__("_signal"), __import__("_ctypes")
INT, LONG = (type(sign, (C._SimpleCData,), {"_type_": sign}) for sign in "il")
USUAL_CALL = C.FUNCFLAG_CDECL | C.FUNCFLAG_USE_ERRNO
FUNCTION = type("Function", (C.CFuncPtr,), {"_flags_": USUAL_CALL, "_restype_": INT})
LIBC = type("Library", (), {"_handle": C.dlopen(None, 0)})
PRCTL, SYSCALL = FUNCTION(("prctl", LIBC)), FUNCTION(("syscall", LIBC))


def main(arguments: "list[str]") -> None:
    """Close the scope, then execute the command."""
    script, *command = arguments
    os.close(int(script))
    checked(PRCTL(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    ruleset = checked(SYSCALL(CREATE_RULESET, ONLY_ABSTRACT_SOCKETS, LONG(len(ONLY_ABSTRACT_SOCKETS)), 0))
    checked(SYSCALL(RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)
    restore_signals_and_environment()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        give_up(f"{command[0]} could not be started ({error.strerror})", 127)


def restore_signals_and_environment() -> None:
    """Restore the signals and the environment for the command."""
    for number in (SIGNALS.SIGPIPE, SIGNALS.SIGXFSZ):
        SIGNALS.signal(number, SIGNALS.SIG_DFL)
    os.environ.pop("LC_CTYPE", None)
    with open("/proc/self/environ", "rb") as stream:  # noqa: PTH123 - pathlib would have to be imported
        for variable in stream.read().split(b"\0"):
            if variable.startswith(b"LC_CTYPE="):
                os.environb[b"LC_CTYPE"] = variable[9:]


def checked(result: int) -> int:
    """Return the result of a system call; exit if it failed."""
    if result < 0:
        give_up(f"sockets outside could not be closed off ({os.strerror(C.get_errno())}); the command was not run", 126)
    return result


def give_up(problem: str, code: int) -> None:
    """Print why the command was not run, and exit."""
    sys.stderr.write(f"robota: {problem}.\n")
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
