"""A mark that the kernel keeps on every process that runs an agent, and on all that it starts.

An agent must not answer its own questions. Who is asked cannot be told from the environment or from parents: a process
can change the one, and lose the other by forking twice. A hard resource limit is inherited by every child, survives
`exec`, `setsid` and the end of all parents, and can only be lowered by a process without privileges. The limit of file
locks has had no effect on Linux for twenty years, so lowering it changes nothing for the programs.
"""

import resource
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

# The number of RLIMIT_LOCKS, which Python does not name.
LOCKS: Final = 10
# Nobody sets such a limit by hand.
MARK: Final = 2**62
SESSION_FIELD: Final = 3  # in /proc/PID/stat, counted after the name of the program


@cache
def mark_this_process() -> int:
    """Mark this process and all that it starts from now on. Returns the highest limit that counts as the mark."""
    _, hard = resource.getrlimit(LOCKS)
    mark = MARK if hard == resource.RLIM_INFINITY or hard >= MARK else max(hard - 1, 0)
    if hard != mark:
        resource.setrlimit(LOCKS, (mark, mark))
    return mark


def is_marked(pid: int) -> bool:
    """Whether an agent started the process, or one of its forebears. Raises `OSError` if that cannot be found out."""
    _, hard = resource.prlimit(pid, LOCKS)
    return hard != resource.RLIM_INFINITY and hard <= mark_this_process()


def is_of_agent(pid: int) -> bool:
    """Whether an agent may have started the process. Raises `OSError` if that cannot be found out.

    A process that runs an agent has the mark itself. It is the user's own if an unmarked process belongs to its
    session, such as the shell in which it was typed: what it starts for an agent gets a session of its own, the kernel
    lets no process join one that it has left, and whoever is born in a session of marked processes is marked, too.
    """
    if not is_marked(pid):
        return False
    session = _session_of(pid)
    if session > 0 and session != pid and _is_unmarked(session):
        return False
    # The leader has ended, or runs in a container around this one.
    return not any(_is_unmarked(other) for other in _processes() if _is_in_session(other, session))


def _is_unmarked(pid: int) -> bool:
    try:
        return not is_marked(pid)
    except OSError:
        return False


def _is_in_session(pid: int, session: int) -> bool:
    try:
        return _session_of(pid) == session
    except OSError:
        return False


def _session_of(pid: int) -> int:
    stat = (Path("/proc") / str(pid) / "stat").read_text(errors="replace")
    return int(stat.rpartition(")")[2].split()[SESSION_FIELD])


def _processes() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
