"""Limits of a running command: time, processes, memory, and waiting for input that nobody will type."""

import asyncio
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.process.ending import StopReason
from robota.workspace.process.input_wait import all_wait_for_input
from robota.workspace.process.tree import ProcessTree, newest_pid

CHECK_S: Final = 0.5
# A fork bomb doubles in a millisecond; to see that there is none takes a few microseconds.
PROCESS_CHECK_S: Final = 0.1
# A longer time than this between two looks at the clock is one in which Robota did not run.
LONGEST_STEP_S: Final = 1.0
MOST_OF_MEMORY: Final = 0.75
PROC: Final = Path("/proc")
PAGE: Final = os.sysconf("SC_PAGE_SIZE")
# In a container these say what there is, and /proc/meminfo what the machine around it has.
LIMITS_OF_CONTAINERS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
OOM_SCORE: Final = 500


class CommandLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a command may cost. `total_s` is the person's own limit: it holds whatever a model asks for."""

    total_s: float | None = None
    processes: int = 1000
    memory_bytes: int | None = None  # None is three quarters of what the machine has
    silence_s: float | None = 4.0  # how long it may wait for input; None if some can still come


class Watchdog:
    """Calls `on_limit` when the command must be stopped. Quick commands cost nothing: it checks every half second."""

    def __init__(
        self,
        tree: ProcessTree,
        printed: Callable[[], int],
        limits: CommandLimits,
        on_limit: Callable[[StopReason], None],
    ) -> None:
        """`printed` tells how many bytes the command has printed so far."""
        self._tree = tree
        self._printed = printed
        self._limits = limits
        self._on_limit = on_limit
        self._loop = asyncio.get_running_loop()
        self._counted, self._newest = 0, newest_pid()
        self._most_memory = limits.memory_bytes
        self._activity: tuple[int, int] | None = None
        self._waiting_since = 0.0
        self._ran_s, self._looked_at = 0.0, self._loop.time()
        prefer_for_oom_kill(tree.shell)
        self._next_close_check = self._loop.time() + CHECK_S
        self._timer = self._loop.call_later(PROCESS_CHECK_S, self._check_often)

    def stop(self) -> None:
        """Check no more. Doing it twice does nothing."""
        self._timer.cancel()

    def _check_often(self) -> None:
        self._count_time()
        reason = StopReason.TOO_MANY_PROCESSES if self._has_too_many_processes() else None
        if reason is None and self._limits.total_s is not None and self._ran_s >= self._limits.total_s:
            reason = StopReason.USER_LIMIT
        elif reason is not None:
            self._tree.kill_group()  # at once: they multiply while we count them or wait for them to end
        elif self._loop.time() >= self._next_close_check:
            reason = self._check_closely()
            self._next_close_check = self._loop.time() + CHECK_S
        if reason is None:
            self._timer = self._loop.call_later(PROCESS_CHECK_S, self._check_often)
        else:
            self._on_limit(reason)

    def _count_time(self) -> None:
        """A long time between two looks is one in which Robota was stopped, and does not count against the command."""
        now = self._loop.time()
        self._ran_s += min(now - self._looked_at, LONGEST_STEP_S)
        self._looked_at = now

    def _check_closely(self) -> StopReason | None:
        if self._uses_too_much_memory():
            return StopReason.TOO_MUCH_MEMORY
        if self._limits.silence_s is not None and self._waiting_for_input_s() >= self._limits.silence_s:
            return StopReason.WAITED_FOR_INPUT
        return None

    def _has_too_many_processes(self) -> bool:
        newest = newest_pid()
        if newest >= self._newest and self._counted + newest - self._newest <= self._limits.processes:
            return False  # not even if every process started on this machine since the last count was its own
        self._counted, self._newest = self._tree.count(self._limits.processes + 1), newest
        return self._counted > self._limits.processes

    def _uses_too_much_memory(self) -> bool:
        if self._most_memory is None:
            self._most_memory = int((whole_memory() or 0) * MOST_OF_MEMORY)
        most, in_use = self._most_memory, memory_in_use()
        if most == 0 or in_use is None or in_use <= most:
            return False  # not even if everything in use on this machine was its own
        return memory_of((member.pid for member in self._tree.members()), most) > most

    def _waiting_for_input_s(self) -> float:
        """How long it has done nothing but wait for input."""
        members = self._tree.members()
        activity = (self._printed(), sum(member.cpu_ticks for member in members))
        if activity != self._activity or not all_wait_for_input(members):
            self._activity = activity
            self._waiting_since = self._ran_s
        return self._ran_s - self._waiting_since


def whole_memory() -> int | None:
    """What this machine or container has, in bytes; None if that is not known."""
    known = [size for size in (_meminfo("MemTotal"), *map(_number_in, LIMITS_OF_CONTAINERS)) if size is not None]
    return min(known, default=None)


def memory_in_use() -> int | None:
    """By everybody on this machine: more than any single command can hold."""
    total, available = _meminfo("MemTotal"), _meminfo("MemAvailable")
    return None if total is None or available is None else total - available


def memory_of(processes: Iterable[int], more_than: int) -> int:
    """What they hold, in bytes. What they share counts only once if the sum would else be `more_than` that."""
    pids = tuple(processes)
    quick = sum(_resident(pid) for pid in pids)
    return quick if quick <= more_than else sum(_own_share(pid) for pid in pids)


def prefer_for_oom_kill(pid: int) -> None:
    """If memory runs out all the same, the kernel kills this process and its children before the editor and us."""
    score = PROC / str(pid) / "oom_score_adj"
    with suppress(OSError, ValueError):
        if int(score.read_text()) < OOM_SCORE:
            score.write_text(str(OOM_SCORE))


def _resident(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        return int((PROC / str(pid) / "statm").read_text().split()[1]) * PAGE
    return 0


def _own_share(pid: int) -> int:
    """Every page divided by the number of those who have it: slow, and not always told."""
    with suppress(OSError):
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    with suppress(OSError, ValueError, IndexError):
        _, resident, shared, *_ = (PROC / str(pid) / "statm").read_text().split()
        return (int(resident) - int(shared)) * PAGE
    return 0


def _meminfo(name: str) -> int | None:
    with suppress(OSError):
        for line in (PROC / "meminfo").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None


def _number_in(file: Path) -> int | None:
    with suppress(OSError, ValueError):
        return int(file.read_text())
    return None
