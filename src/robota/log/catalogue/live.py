"""Finds logs that are being written now, without locking them where the kernel lists the locks."""

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

LOCKS: Final = Path("/proc/locks")
INODE_FIELD: Final = 5


def held_logs(logs: Iterable[Path]) -> frozenset[Path]:
    """The logs that a process has locked for writing."""
    locked = _locked_inodes()
    candidates = logs if locked is None else (log for log in logs if _inode(log) in locked)
    return frozenset(log for log in candidates if is_held(log))


def is_held(log: Path) -> bool:
    """Whether a process is writing the log, found by taking its lock for a moment."""
    try:
        descriptor = os.open(log, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _locked_inodes() -> frozenset[int] | None:
    """The inodes with a lock of any process; None if the system does not list them."""
    try:
        lines = LOCKS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    fields = (line.split() for line in lines if " FLOCK " in line and "->" not in line)
    inodes = (each[INODE_FIELD].rpartition(":")[2] for each in fields if len(each) > INODE_FIELD)
    return frozenset(int(inode) for inode in inodes if inode.isdecimal())


def _inode(log: Path) -> int:
    try:
        return log.stat().st_ino
    except OSError:
        return -1
