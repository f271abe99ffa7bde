"""What sandboxed commands opened, as strace saw it from outside: a witness for reads that leave no trace elsewhere."""

import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

CALLS: Final = "open,openat,openat2,execve,clone,clone3,fork,vfork"
# Robota starts every command with this shell, inside the sandbox. What runs before it, outside, may read more.
BEGINNING: Final = re.compile(r'execve\("/bin/bash", \["/bin/bash", "-c", ')
LINE: Final = re.compile(r"(\d+) +(.*)")
CHILD: Final = re.compile(r"(?:clone3?|v?fork)\b.* = (\d+)(?: /\* (\d+) in strace's PID NS \*/)?$")
OPENED: Final = re.compile(r"open(?:at2?)?\b.* = \d+<(/.*)>$")
# Behind the path of a device: one is mounted over every hidden file.
DEVICE: Final = re.compile(r"<(?:char|block) [^>]*>$")


def strace_is_installed() -> bool:
    return shutil.which("strace") is not None


def under_strace(record: Path) -> tuple[str, ...]:
    """The words before a command line that make strace record the files that are opened."""
    options = ("-f", "-qq", "-yy", "-s", "4096", "--seccomp-bpf", "--decode-pids=pidns", "-e", "signal=none")
    return (_strace(), *options, "-e", f"trace={CALLS}", "-o", str(record))


def opened_by_commands(record: Path) -> set[str]:
    """The paths of the files that commands opened."""
    lines = [(int(pid), what) for pid, what in _lines(record)]
    children: dict[int, set[int]] = {}
    shells: set[int] = set()
    for pid, what in lines:
        if BEGINNING.match(what):
            shells.add(pid)
        elif (child := CHILD.search(what)) is not None:
            children.setdefault(pid, set()).add(int(child[2] or child[1]))
    # The process of a shell was ours before. A child may appear in the record before the call that made it.
    inside = _descendants(shells, children)
    opened: set[str] = set()
    for pid, what in lines:
        if BEGINNING.match(what):
            inside.add(pid)
        elif pid in inside and (match := OPENED.search(what)) is not None and not DEVICE.search(match[1]):
            opened.add(match[1])
    return opened


def _descendants(pids: set[int], children: dict[int, set[int]]) -> set[int]:
    found: set[int] = set()
    waiting = list(pids)
    while waiting:
        fresh = children.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return found


def _lines(record: Path) -> Iterator[tuple[str, str]]:
    for line in record.read_text("utf-8", "replace").splitlines():
        if (match := LINE.fullmatch(line)) is not None:
            yield match[1], match[2]


@cache
def _strace() -> str:
    found = shutil.which("strace")
    assert found is not None
    return found
