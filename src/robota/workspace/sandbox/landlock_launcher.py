"""Confine a command with Landlock and seccomp. Run by path, with `python -I -S`.

    python -I -S landlock_launcher.py [OPTION VALUE]... -- COMMAND...

Options, some repeatable: --writable PATH, --held DESCRIPTOR (of a writable directory), --device PATH, --hidden PATH,
--visible PATH (beneath a hidden one), --git-config PATH, --temporary PATH, --network on|off, --oom-score NUMBER,
--filter HEX, --truncation-filter HEX (for kernels whose Landlock does not restrict truncating). It imports nothing from
robota and as little as possible, because it starts once per command and every import takes time. On any failure it
exits with code 126 before the command has run.

This process itself is not confined. Every process that the command leaves running becomes its child, even without the
mark and the session that identify Robota's commands. It kills them and exits with the status of the command.
"""

import os
import resource
import sys

# Stands for typing.TYPE_CHECKING: importing typing takes too long.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CREATE_RULESET, ADD_RULE, RESTRICT_SELF, PATH_BENEATH = 444, 445, 446, 1
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 22, 24, 36, 38
SECCOMP_MODE_FILTER, SIGKILL = 2, 9

# Landlock's access rights, all of them in ABI 1 except REFER (2), TRUNCATE (3) and IOCTL_DEV (5).
ABI_WITH_TRUNCATE = 3
WRITE_FILE, READ_FILE, REFER, TRUNCATE, IOCTL_DEV = 1 << 1, 1 << 2, 1 << 13, 1 << 14, 1 << 15
MAKE_AND_REMOVE, MAKE_DEVICES = 0x1FF << 4, 1 << 6 | 1 << 11
OF_FILES = WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
BIND_AND_CONNECT_TCP, ABSTRACT_SOCKETS_AND_SIGNALS = 0x3, 0x3

# Capabilities that root keeps: CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETGID, SETUID, all of them for files and users.
KEPT_CAPABILITIES = (0, 1, 3, 4, 6, 7)
MAX_CAPABILITIES = 64
MAX_FILE_BYTES = 16 << 30

# The C modules below `signal` and `ctypes`: those two take longer to import than all the rest.
SIGNALS, C = __import__("_signal"), __import__("_ctypes")
INT, LONG = (type(sign, (C._SimpleCData,), {"_type_": sign}) for sign in "il")
BYTE: "Any" = type("c", (C._SimpleCData,), {"_type_": "c"})
USUAL_CALL = C.FUNCFLAG_CDECL | C.FUNCFLAG_USE_ERRNO
FUNCTION = type("Function", (C.CFuncPtr,), {"_flags_": USUAL_CALL, "_restype_": INT})
LIBC = type("Library", (), {"_handle": C.dlopen(None, 0)})
PRCTL, SYSCALL = FUNCTION(("prctl", LIBC)), FUNCTION(("syscall", LIBC))


def main(arguments: list[str]) -> None:
    """Build the sandbox described by the arguments, then execute the command."""
    end = arguments.index("--")
    given: dict[str, list[str]] = {}
    for option, value in zip(arguments[0:end:2], arguments[1:end:2], strict=True):
        given.setdefault(option, []).append(value)
    os.environ["TMPDIR"] = given["--temporary"][0]
    if "--git-config" in given:  # the user's own, which cannot be read, would make git fail
        os.environ["GIT_CONFIG_GLOBAL"] = given["--git-config"][0]
    prefer_for_oom_kill(given["--oom-score"][0])
    die_with_parent()
    command = fork_command()
    if command:
        outlive(command)
    checked(PRCTL(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    limit_resources()
    drop_capabilities()
    abi = restrict_files(given)
    if abi < ABI_WITH_TRUNCATE:
        restrict_calls(bytes.fromhex(given.get("--truncation-filter", [""])[0]))
    restrict_calls(bytes.fromhex(given.get("--filter", [""])[0]))
    restore_signals_and_environment()
    os.execvp(arguments[end + 1], arguments[end + 1 :])


def prefer_for_oom_kill(score: str) -> None:
    """Make the kernel kill this process first when memory runs out; called first, so that all children inherit it."""
    try:
        with open("/proc/self/oom_score_adj", "r+") as file:  # noqa: PTH123 - pathlib would have to be imported
            # Not `read`, which looks for more: the watchdog may change the number meanwhile, to one with more digits.
            if int(file.readline()) < int(score):
                file.seek(0)
                file.write(score)
    except OSError:
        pass  # not permitted here; everything else still works


def fork_command() -> int:
    """Fork. The parent adopts all orphaned descendants, and ignores signals until the command has ended."""
    checked(PRCTL(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
    command = os.fork()
    if command:
        SIGNALS.pthread_sigmask(SIGNALS.SIG_BLOCK, SIGNALS.valid_signals())
    else:
        die_with_parent()
    return command


def die_with_parent() -> None:
    """Make the kernel kill this process when its parent ends."""
    checked(PRCTL(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))


def outlive(command: int) -> None:
    """Wait for the command, kill what it left running, and exit with the same status."""
    for descriptor in range(3):
        os.close(descriptor)
    ended, status = os.waitpid(-1, 0)
    while ended != command:
        ended, status = os.waitpid(-1, 0)
    end_children()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != SIGKILL:
            SIGNALS.signal(number, SIGNALS.SIG_DFL)
            SIGNALS.pthread_sigmask(SIGNALS.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def end_children() -> None:
    """Kill children until there are none: when one dies, its own children become ours."""
    try:
        while True:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                for pid in children():
                    os.kill(pid, SIGKILL)
                os.waitpid(-1, 0)
    except ChildProcessError:
        pass


def children() -> list[int]:
    """The pids of the children of this process."""
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdecimal()]
    return [pid for pid in pids if parent_of(pid) == os.getpid()]


def parent_of(pid: int) -> int:
    """The parent of a process, or 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123 - see above
            return int(stat.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0  # gone meanwhile


def limit_resources() -> None:
    """No core dumps, and no file that fills the disk."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    if hard == resource.RLIM_INFINITY or hard > MAX_FILE_BYTES:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))


def drop_capabilities() -> None:
    """Drop capabilities that a command started as root would get; for other users this fails and changes nothing."""
    for capability in range(MAX_CAPABILITIES):
        if capability not in KEPT_CAPABILITIES:
            PRCTL(PR_CAPBSET_DROP, capability, 0, 0, 0)


def restrict_files(given: dict[str, list[str]]) -> int:
    """Limit with Landlock what can be read and written from now on. Return what this kernel's Landlock can do."""
    abi = checked(SYSCALL(CREATE_RULESET, None, 0, 1))
    hidden = given.get("--hidden", [])
    writing = WRITE_FILE | MAKE_AND_REMOVE | (REFER if abi >= 2 else 0) | (TRUNCATE if abi >= ABI_WITH_TRUNCATE else 0)
    reading = READ_FILE if hidden else 0
    devices = IOCTL_DEV if abi >= 5 else 0
    ports = BIND_AND_CONNECT_TCP if abi >= 4 and given["--network"] == ["off"] else 0
    scopes = ABSTRACT_SOCKETS_AND_SIGNALS if abi >= 6 else 0
    words = (writing | reading | devices, *((ports,) if abi >= 4 else ()), *((scopes,) if abi >= 6 else ()))
    attributes = b"".join(word.to_bytes(8, sys.byteorder) for word in words)
    ruleset = checked(SYSCALL(CREATE_RULESET, attributes, LONG(len(attributes)), 0))
    for path in given["--writable"]:
        allow(ruleset, path, (writing & ~MAKE_DEVICES) | reading)
    for number in given.get("--held", []):
        allow_held(ruleset, int(number), (writing & ~MAKE_DEVICES) | reading)
    for path in given["--device"]:
        allow(ruleset, path, writing & (WRITE_FILE | TRUNCATE) | reading | devices)
    for path in (*everything_but(hidden), *given.get("--visible", [])):
        allow(ruleset, path, reading)
    checked(SYSCALL(RESTRICT_SELF, ruleset, 0))
    return abi


def everything_but(hidden: list[str]) -> list[str]:
    """Files and directories that together cover the whole file system except `hidden`. Links are skipped."""
    on_the_way = {path[:end] or "/" for path in hidden for end, letter in enumerate(path) if letter == "/"}
    not_whole = on_the_way.union(hidden)
    paths: list[str] = []
    for directory in on_the_way:
        try:
            with os.scandir(directory) as entries:
                paths += [entry.path for entry in entries if entry.path not in not_whole and not entry.is_symlink()]
        except OSError:
            pass  # no rule for what cannot be listed, so it stays closed
    return paths


def allow(ruleset: int, path: str, rights: int) -> None:
    """Add a rule for a path, if it exists."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return  # removed meanwhile; without a rule it stays closed
    allow_held(ruleset, descriptor, rights)


def allow_held(ruleset: int, descriptor: int, rights: int) -> None:
    """Add a rule for what a descriptor holds, and close it."""
    is_directory = os.fstat(descriptor).st_mode & 0o170000 == 0o040000
    rule = rights if is_directory else rights & OF_FILES
    packed = rule.to_bytes(8, sys.byteorder) + descriptor.to_bytes(4, sys.byteorder)
    checked(SYSCALL(ADD_RULE, ruleset, PATH_BENEATH, packed, 0))
    os.close(descriptor)


def restrict_calls(program: bytes) -> None:
    """Refuse system calls with a seccomp filter."""
    if not program:
        return
    code = (BYTE * len(program)).from_buffer_copy(program)
    header = (len(program) // 8).to_bytes(8, sys.byteorder) + C.addressof(code).to_bytes(8, sys.byteorder)
    checked(PRCTL(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0))


def restore_signals_and_environment() -> None:
    """Restore the signals and the environment for the command."""
    for number in (SIGNALS.SIGPIPE, SIGNALS.SIGXFSZ):
        SIGNALS.signal(number, SIGNALS.SIG_DFL)
    os.environ.pop("LC_CTYPE", None)
    with open("/proc/self/environ", "rb") as stream:  # noqa: PTH123 - see above
        for variable in stream.read().split(b"\0"):
            if variable.startswith(b"LC_CTYPE="):
                os.environb[b"LC_CTYPE"] = variable[9:]


def checked(result: int) -> int:
    """Return the result of a system call; exit if it failed, because without it there is no sandbox."""
    if result < 0:
        error = os.strerror(C.get_errno())
        sys.stderr.write(f"robota: the sandbox could not be built ({error}); the command was not run.\n")
        os._exit(126)
    return result


if __name__ == "__main__":
    own_script = sys.argv[0].removeprefix("/proc/self/fd/")
    if own_script.isdecimal():
        os.set_inheritable(int(own_script), False)
    main(sys.argv[1:])
