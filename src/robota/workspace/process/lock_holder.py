"""Find the process that holds the lock (`flock`) of a file."""

import time
from pathlib import Path
from typing import Final

import msgspec

LOCKS: Final = Path("/proc/locks")
PROCESSES: Final = Path("/proc")
PID_FIELD: Final = 4
INODE_FIELD: Final = 5
COMMAND_LENGTH: Final = 80


class LockHolder(msgspec.Struct, frozen=True, kw_only=True):
    """A process that holds a lock; `since` is when it was started, in seconds, if that is known."""

    pid: int
    command: str = ""
    since: float | None = None

    @property
    def since_ms(self) -> int | None:
        """When it was started, in milliseconds."""
        return None if self.since is None else int(self.since * 1000)

    @property
    def text(self) -> str:
        """A description for the user."""
        command = f" ({self.command})" if self.command else ""
        since = "" if self.since is None else time.strftime(" since %Y-%m-%d %H:%M", time.localtime(self.since))
        return f"process {self.pid}{command}{since}"


def holder_of(file: Path, *, is_shared: bool = False) -> LockHolder | None:
    """A process that holds the exclusive (or shared) lock of a file; None if /proc/locks lists none."""
    try:
        status = file.stat()
        lines = LOCKS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    kind = "READ" if is_shared else "WRITE"
    inode = str(status.st_ino)  # the device in /proc/locks is not always the file's
    for fields in map(str.split, lines):
        is_lock = len(fields) > INODE_FIELD and fields[1] == "FLOCK" and fields[3] == kind
        if is_lock and fields[INODE_FIELD].rpartition(":")[2] == inode and fields[PID_FIELD].isdecimal():
            return _described(int(fields[PID_FIELD]))
    return None


def _described(pid: int) -> LockHolder:
    process = PROCESSES / str(pid)
    try:
        words = (process / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        since: float | None = process.stat().st_ctime
    except OSError:
        return LockHolder(pid=pid)
    command = "".join(char if char.isprintable() else "?" for char in " ".join(words).strip())
    return LockHolder(pid=pid, command=command[:COMMAND_LENGTH], since=since)
