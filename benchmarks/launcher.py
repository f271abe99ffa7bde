"""Starts a command from a process that is small itself, and writes down what it cost.

Linux counts the memory of whoever forked a process as that process's own, up to the moment of `exec`: started from a
benchmark that holds a large file, everything would seem to need as much.

Run as `python -I -S launcher.py REPORT COMMAND…`.
"""

import os
import sys
import time
from pathlib import Path


def main(report: str, command: list[str]) -> None:
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    cpu = usage.ru_utime + usage.ru_stime
    Path(report).write_text(f"{os.waitstatus_to_exitcode(status)} {wall} {cpu} {usage.ru_maxrss}", encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
