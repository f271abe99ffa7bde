"""Runs `robota` in a process that kills itself at the n-th thing it does to the disk, a database or another program.

`python dying.py NOTE POINT ARGUMENT…`: with point 0 it comes to its end. NOTE is a file that says
afterwards how many points there were and what the last one was.
"""

import json
import os
import signal
import sqlite3
import sys
import threading
from typing import Any

STEPS = frozenset(
    {
        "os.chmod",
        "os.link",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.symlink",
        "os.truncate",
        "socket.connect",
        "subprocess.Popen",
    }
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Points:
    """Counts the points of this process and kills it at one of them."""

    def __init__(self, note: int, fatal: int) -> None:
        self._note, self._fatal = note, fatal
        self._count, self._last = 0, ""
        self._write, self._fsync, self._connect = os.write, os.fsync, sqlite3.connect
        self._lock = threading.Lock()  # no other thread gets further while this one dies

    def put_in_place(self) -> None:
        for module, name in ((os, "write"), (os, "fsync"), (sqlite3, "connect")):
            setattr(module, name, getattr(self, name))
        sys.addaudithook(self.audit)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in STEPS or (event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING):
            self.pass_by(f"{event} {arguments[0]!s:.200}")

    def write(self, descriptor: int, data: Any) -> int:
        self.pass_by(f"write {descriptor}", descriptor, bytes(data)[: len(data) // 2])
        return self._write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        self.pass_by(f"fsync {descriptor}")
        self._fsync(descriptor)

    def connect(self, *arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = self._connect(*arguments, **options)
        connection.set_trace_callback(lambda statement: self.pass_by(f"sql {statement[:30]}"))
        return connection

    def pass_by(self, what: str, descriptor: int = -1, first_half: bytes = b"") -> None:
        with self._lock:
            self._count += 1
            self._last = what
            if self._count == self._fatal:
                self.leave_note()
                if first_half and self._fatal % 2:  # every second time what is written is torn
                    self._write(descriptor, first_half)
                os.kill(os.getpid(), signal.SIGKILL)

    def leave_note(self) -> None:
        self._write(self._note, json.dumps([self._count, self._last]).encode())


def main() -> None:
    from robota.cli.main import main as robota

    note = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    points = Points(note, int(sys.argv[2]))
    points.put_in_place()
    try:
        raise SystemExit(robota(sys.argv[3:]))
    finally:
        points.leave_note()


if __name__ == "__main__":
    main()
