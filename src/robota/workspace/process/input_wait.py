"""Whether a command waits for typed input: read from the kernel, not guessed from its output.

A command has no terminal and an empty input, so prompting usually fails at once. The exceptions are programs that open
their own terminal (expect, script, pty modules) and background processes, whose input is a pipe that may be empty.
"""

import os
from collections.abc import Collection, Sequence
from functools import cache
from typing import Final

import msgspec

from robota.workspace.process.tree import PROC, Member

SLEEPING: Final = "S"


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of the system calls that wait for input, on one architecture."""

    read: int
    select: Collection[int]


CALLS: Final = {
    "x86_64": Calls(read=0, select=(23, 270)),
    "aarch64": Calls(read=63, select=(72,)),
}


def all_wait_for_input(members: Sequence[Member], pipe: str | None = None) -> bool:
    """Whether every process of the tree waits for typed input, or for other processes that do.

    `pipe` is the name of the command's own input (`pipe:[123]`), if it has one.
    """
    parents = {member.parent for member in members}
    leaves = [member for member in members if member.pid not in parents]
    return bool(leaves) and all(_waits(member, pipe) for member in leaves)


def _waits(member: Member, pipe: str | None) -> bool:
    calls = _calls()
    if calls is None or member.state != SLEEPING:
        return False
    try:
        call, *arguments = (PROC / str(member.pid) / "syscall").read_text().split()
        number, first = int(call), int(arguments[0], 16)
    except (OSError, ValueError, IndexError):  # gone, not permitted, or "running"
        return False
    if number == calls.read:
        return _is_typed(member.pid, first, pipe)
    # `select` with one descriptor can only watch descriptor 0.
    return number in calls.select and first == 1 and _is_typed(member.pid, 0, pipe)


def _is_typed(pid: int, descriptor: int, pipe: str | None) -> bool:
    try:
        target = str((PROC / str(pid) / "fd" / str(descriptor)).readlink())
    except OSError:
        return False
    return target.startswith(("/dev/pts/", "/dev/tty")) or target == pipe


@cache
def _calls() -> Calls | None:
    return CALLS.get(os.uname().machine)
