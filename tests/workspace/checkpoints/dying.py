"""A process that ends without any clean-up in the middle of something."""

import os
import sys
from collections.abc import Callable

FATAL = frozenset({"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "subprocess.Popen"})


def run_until(number: int, work: Callable[[], object]) -> None:
    """Do the work in a process that ends at the n-th time that it does something to the disk or starts a program."""
    child = os.fork()
    if child == 0:
        _die_at(number)
        work()
        os._exit(0)
    os.waitpid(child, 0)


def _die_at(number: int) -> None:
    count = 0

    def dying(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        count += event in FATAL
        if count == number:
            os._exit(9)

    sys.addaudithook(dying)
