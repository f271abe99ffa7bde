"""Running real commands in tests, and seeing that they are gone. No clock: a named pipe tells the end of a process."""

import asyncio
import gc
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from robota.workspace.process.foreground import CommandOutcome
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.watchdog import CommandLimits

T = TypeVar("T")


def with_processes(scenario: Callable[[LocalProcesses], Awaitable[T]], limits: CommandLimits | None = None) -> T:
    """Run the scenario in an event loop of its own and close what it used."""

    async def opened() -> T:
        processes = LocalProcesses(limits)
        try:
            return await scenario(processes)
        finally:
            processes.close()

    return asyncio.run(opened())


def run(
    command: str,
    cwd: Path,
    timeout_s: float | None = 60,
    on_output: Callable[[str], None] = lambda _: None,
    limits: CommandLimits | None = None,
) -> CommandOutcome:
    return with_processes(lambda processes: processes.run(command, cwd, timeout_s, on_output), limits)


class Witness:
    """A named pipe that a process under test holds open for writing; its end is the end of the process."""

    def __init__(self, directory: Path, name: str = "witness") -> None:
        self.path = directory / name
        os.mkfifo(self.path)
        self._reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(self._reader, True)

    def wait_until_gone(self) -> bytes:
        """Blocks until no process holds the pipe; the time limit of the test suite is the only clock."""
        said = b""
        while piece := os.read(self._reader, 4096):
            said += piece
        os.close(self._reader)
        return said


def open_descriptors() -> list[str]:
    gc.collect()  # ends sessions of earlier tests that were cancelled instead of closed
    return [place.name for place in Path("/proc/self/fd").iterdir()]


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@contextmanager
def leaving_nothing() -> Iterator[None]:
    """Nothing more than was there before: another test of the same process may have left something of its own."""
    before, children_before = open_descriptors(), children()
    yield
    # The descriptors first: that collects garbage, and a session that was cancelled instead of closed dismisses its
    # guardian when it is collected.
    assert open_descriptors() == before
    assert children() <= children_before
