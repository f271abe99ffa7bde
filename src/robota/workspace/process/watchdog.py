"""Enforce the limits of a running command: time, processes, memory, disk, and waiting for input that never comes."""

import asyncio
import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.process.ending import StopReason
from robota.workspace.process.input_wait import all_wait_for_input
from robota.workspace.process.tree import ProcessTree, newest_pid

CHECK_S: Final = 0.5
# A fork bomb doubles in a millisecond; the check takes a few microseconds.
PROCESS_CHECK_S: Final = 0.1
# If more time than this passes between two checks, Robota was suspended.
MAX_STEP_S: Final = 1.0
MAX_MEMORY_SHARE: Final = 0.75
PROC: Final = Path("/proc")
PAGE: Final = os.sysconf("SC_PAGE_SIZE")
# In a container these are the limits, and /proc/meminfo describes the host.
CONTAINER_LIMITS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
OOM_SCORE: Final = 500
BLOCK_BYTES: Final = 512
# Where a file system does not count its files, we do, but not with every check.
CHECKS_BETWEEN_COUNTS: Final = 10
# Clocks of file systems are coarser than ours.
CLOCK_SLACK_S: Final = 2.0


class GrowthLimit(msgspec.Struct, frozen=True, kw_only=True):
    """How much a command may write in these directories together, and how many files and directories it may create."""

    places: tuple[Path, ...]
    most_bytes: int
    most_entries: int = 200_000


class CommandLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a command. `total_s` is the user's limit: the model cannot raise it.

    `growth` limits one that nobody approved.
    """

    total_s: float | None = None
    growth: GrowthLimit | None = None
    processes: int = 1000
    memory_bytes: int | None = None  # None: three quarters of the machine's memory
    silence_s: float | None = 4.0  # how long it may wait for input; None if it can still get some


class Watchdog:
    """Calls `on_limit` when the command exceeds a limit. Short commands cost nothing: checks run on a timer."""

    def __init__(
        self,
        tree: ProcessTree,
        printed: Callable[[], int],
        limits: CommandLimits,
        on_limit: Callable[[StopReason], None],
    ) -> None:
        """`printed` returns the number of bytes that the command has printed so far."""
        self._tree = tree
        self._printed = printed
        self._limits = limits
        self._on_limit = on_limit
        self._loop = asyncio.get_running_loop()
        self._counted, self._newest = 0, newest_pid()
        self._max_memory = limits.memory_bytes
        self._growth = None if limits.growth is None else GrowthWatch(limits.growth)
        self._activity: tuple[int, int] | None = None
        self._waiting_since = 0.0
        self._ran_s, self._last_check = 0.0, self._loop.time()
        prefer_for_oom_kill(tree.shell)
        self._next_full_check = self._loop.time() + CHECK_S
        self._timer = self._loop.call_later(PROCESS_CHECK_S, self._check_often)

    def stop(self) -> None:
        """Stop checking. Idempotent."""
        self._timer.cancel()

    def _check_often(self) -> None:
        self._count_time()
        reason = StopReason.TOO_MANY_PROCESSES if self._has_too_many_processes() else None
        if reason is None and self._limits.total_s is not None and self._ran_s >= self._limits.total_s:
            reason = StopReason.USER_LIMIT
        elif reason is not None:
            self._tree.kill_group()  # at once: they multiply while we count them or wait for them to end
        elif self._loop.time() >= self._next_full_check:
            reason = self._check_memory_and_input()
            self._next_full_check = self._loop.time() + CHECK_S
        if reason is None:
            self._timer = self._loop.call_later(PROCESS_CHECK_S, self._check_often)
        else:
            self._on_limit(reason)

    def _count_time(self) -> None:
        """Add the time since the last check. A long gap means that Robota was suspended, and is not counted."""
        now = self._loop.time()
        self._ran_s += min(now - self._last_check, MAX_STEP_S)
        self._last_check = now

    def _check_memory_and_input(self) -> StopReason | None:
        if self._uses_too_much_memory():
            return StopReason.TOO_MUCH_MEMORY
        if self._growth is not None and (exceeded := self._growth.exceeded()) is not None:
            return exceeded
        if self._limits.silence_s is not None and self._waiting_for_input_s() >= self._limits.silence_s:
            return StopReason.WAITED_FOR_INPUT
        return None

    def _has_too_many_processes(self) -> bool:
        newest = newest_pid()
        if newest >= self._newest and self._counted + newest - self._newest <= self._limits.processes:
            return False  # even if the command started every new process on this machine since the last count
        self._counted, self._newest = self._tree.count(self._limits.processes + 1), newest
        return self._counted > self._limits.processes

    def _uses_too_much_memory(self) -> bool:
        if self._max_memory is None:
            self._max_memory = int((total_memory() or 0) * MAX_MEMORY_SHARE)
        most, in_use = self._max_memory, memory_in_use()
        if most == 0 or in_use is None or in_use <= most:
            return False  # even if the command used all the memory in use on this machine
        return memory_of((member.pid for member in self._tree.members()), most) > most

    def _waiting_for_input_s(self) -> float:
        """The seconds since its last activity, if it waits for input; else 0."""
        members = self._tree.members()
        activity = (self._printed(), sum(member.cpu_ticks for member in members))
        if activity != self._activity or not all_wait_for_input(members):
            self._activity = activity
            self._waiting_since = self._ran_s
        return self._ran_s - self._waiting_since


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes and entries, free or used. `entries` is None where the file system does not count them."""

    bytes: int
    entries: int | None


class GrowthWatch:
    """Compares what is free first, which takes microseconds; only if much is gone are the files looked at."""

    def __init__(self, limit: GrowthLimit) -> None:
        self._limit = limit
        self._since = time.time() - CLOCK_SLACK_S
        self._free = _free(limit.places)
        self._tolerated = Room(bytes=limit.most_bytes, entries=limit.most_entries)
        self._checks = 0

    def exceeded(self) -> StopReason | None:
        """Which limit was exceeded by what was written since the start; None if none was."""
        now = _free(self._limit.places)
        suspected = self._suspected(now)
        if suspected is None and not (now.entries is None and self._is_time_to_count()):
            return None
        used = _used_since(self._limit.places, self._since)
        if used is None:
            return suspected  # the command hides what it writes, so all that is gone counts as its own
        if used.bytes > self._limit.most_bytes:
            return StopReason.TOO_MUCH_DISK
        entries = used.entries or 0
        if entries > self._limit.most_entries:
            return StopReason.TOO_MANY_FILES
        # Other programs used it up: look again when as much is gone as is missing to the limit.
        self._free = now
        self._tolerated = Room(bytes=self._limit.most_bytes - used.bytes, entries=self._limit.most_entries - entries)
        return None

    def _suspected(self, now: Room) -> StopReason | None:
        """The limit that the command may have exceeded, if it was the only one to write anything."""
        if self._free.bytes - now.bytes > self._tolerated.bytes:
            return StopReason.TOO_MUCH_DISK
        if (self._free.entries or 0) - (now.entries or 0) > (self._tolerated.entries or 0):
            return StopReason.TOO_MANY_FILES
        return None

    def _is_time_to_count(self) -> bool:
        self._checks += 1
        return self._checks % CHECKS_BETWEEN_COUNTS == 0


def _free(places: Iterable[Path]) -> Room:
    """The free space of the fullest file system. One that cannot be examined counts as full."""
    free = [_free_at(place) for place in places]
    counted = [room.entries for room in free if room.entries is not None]
    return Room(bytes=min((room.bytes for room in free), default=0), entries=min(counted, default=None))


def _free_at(place: Path) -> Room:
    try:
        status = os.statvfs(place)
    except OSError:
        return Room(bytes=0, entries=0)
    return Room(bytes=status.f_bfree * status.f_frsize, entries=status.f_ffree if status.f_files else None)


def _used_since(places: Iterable[Path], since: float) -> Room | None:
    """The files that were changed, and their bytes on disk; the change time cannot be set back.

    None if some of it cannot be looked at, because its path is too long or the command has closed it.
    """
    size = entries = 0
    waiting = [os.fspath(place) for place in places]
    while waiting:
        directory = waiting.pop()
        try:
            with os.scandir(directory) as scanned:
                for entry in scanned:
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append(entry.path)
                    if status.st_ctime >= since:
                        entries += 1
                        size += status.st_blocks * BLOCK_BYTES // max(1, status.st_nlink)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            if _is_older(directory, since):
                continue
            return None
    return Room(bytes=size, entries=entries)


def _is_older(directory: str, since: float) -> bool:
    """Whether a directory is as it was before, so that the command did not close it."""
    try:
        return os.lstat(directory).st_ctime < since
    except OSError:
        return False


def total_memory() -> int | None:
    """The memory of this machine or container in bytes; None if unknown."""
    sizes = [size for size in (_meminfo("MemTotal"), *map(_number_in, CONTAINER_LIMITS)) if size is not None]
    return min(sizes, default=None)


def memory_in_use() -> int | None:
    """The memory in use on this machine, an upper bound for any single command; None if unknown."""
    total, available = _meminfo("MemTotal"), _meminfo("MemAvailable")
    return None if total is None or available is None else total - available


def memory_of(processes: Iterable[int], more_than: int) -> int:
    """The memory of the processes in bytes. Shared pages are counted once only if the quick sum exceeds `more_than`."""
    pids = tuple(processes)
    quick = sum(_resident(pid) for pid in pids)
    return quick if quick <= more_than else sum(_proportional_share(pid) for pid in pids)


def prefer_for_oom_kill(pid: int) -> None:
    """Make the kernel kill this process and its children first when memory runs out, before the editor and us."""
    score = PROC / str(pid) / "oom_score_adj"
    with suppress(OSError, ValueError):
        if int(score.read_text()) < OOM_SCORE:
            score.write_text(str(OOM_SCORE))


def _resident(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        return int((PROC / str(pid) / "statm").read_text().split()[1]) * PAGE
    return 0


def _proportional_share(pid: int) -> int:
    """The proportional set size (shared pages divided among their users): slow, and not always readable."""
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
