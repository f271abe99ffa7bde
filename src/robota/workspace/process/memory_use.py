"""How much memory the machine has, and how much of it some processes hold."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
PAGE: Final = os.sysconf("SC_PAGE_SIZE")
# In a container these say what there is, and /proc/meminfo what the machine around it has.
LIMITS_OF_CONTAINERS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
EASY_VICTIM: Final = 500


def whole_memory() -> int | None:
    """What this machine or container has, in bytes; None if that is not known."""
    known = [size for size in (_machine("MemTotal"), *map(_number_in, LIMITS_OF_CONTAINERS)) if size is not None]
    return min(known, default=None)


def memory_in_use() -> int | None:
    """By everybody on this machine: more than any single command can hold."""
    total, available = _machine("MemTotal"), _machine("MemAvailable")
    return None if total is None or available is None else total - available


def memory_of(processes: Iterable[int], more_than: int) -> int:
    """What they hold, in bytes. What they share counts only once if the sum would else be `more_than` that."""
    pids = tuple(processes)
    quick = sum(_resident(pid) for pid in pids)
    return quick if quick <= more_than else sum(_own_share(pid) for pid in pids)


def offer_to_the_kernel(pid: int) -> None:
    """If memory runs out all the same, this process and its children go before the editor and before us."""
    place = PROC / str(pid) / "oom_score_adj"
    with suppress(OSError, ValueError):
        if int(place.read_text()) < EASY_VICTIM:
            place.write_text(str(EASY_VICTIM))


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


def _machine(name: str) -> int | None:
    with suppress(OSError):
        for line in (PROC / "meminfo").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None


def _number_in(file: Path) -> int | None:
    with suppress(OSError, ValueError):
        return int(file.read_text())
    return None
