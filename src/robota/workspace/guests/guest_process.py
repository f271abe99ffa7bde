"""A program that serves us for a whole session from inside the sandbox, such as a language server.

It only reads: the workspace is read-only for it, it has no network, and its home is a temporary directory.
"""

import asyncio
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from robota.workspace.process.command_process import CommandProcess
from robota.workspace.process.ending import StopReason
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.watchdog import CommandLimits, Watchdog

MAX_MEMORY_BYTES: Final = 4 * 1024**3
LIMITS: Final = CommandLimits(processes=200, memory_bytes=MAX_MEMORY_BYTES, silence_s=None)
# Programs that find no home to write to fail, or answer wrongly.
HOME: Final = "/tmp/guest"


class GuestProcess:
    """One running program. Everything it started ends with it; `on_end` is called once, with the reason."""

    def __init__(
        self,
        processes: LocalProcesses,
        argv: Sequence[str],
        cwd: Path,
        on_bytes: Callable[[bytes], None],
        on_end: Callable[[str], None],
    ) -> None:
        """Start it, without its standard error. Raises `CommandNotStarted`, also if there is no sandbox."""
        command = f"mkdir -p {HOME} && HOME={HOME} XDG_CACHE_HOME={HOME}/.cache exec {shlex.join(argv)} 2>/dev/null"
        launch = processes.launch_of_guest(command, cwd)
        self._on_end: Callable[[str], None] | None = on_end
        self._child = CommandProcess(launch, on_bytes, lambda: self._finish("it ended"))
        self._watchdog = Watchdog(self._child.tree, lambda: 0, LIMITS, self._exceeded)
        if self._child.exited.is_set():
            self._finish("it ended")

    @property
    def input(self) -> int | None:
        """Its input, which does not block; None once it has ended."""
        return self._child.input

    @property
    def pid(self) -> int:
        """Its first process."""
        return self._child.pid

    def kill(self) -> None:
        """End it with all its processes. Idempotent."""
        if self._on_end is not None:
            self._child.kill()
            # The loop may be in the middle of its callbacks.
            asyncio.get_running_loop().call_soon(self._finish, "it was stopped")

    def _exceeded(self, reason: StopReason) -> None:
        limit = {
            StopReason.TOO_MUCH_MEMORY: "more than 4 GiB of memory",
            StopReason.TOO_MANY_PROCESSES: "too many processes",
        }
        self._finish(f"it needed {limit.get(reason, 'too much')}")

    def _finish(self, why: str) -> None:
        told, self._on_end = self._on_end, None
        if told is None:
            return
        self._watchdog.stop()
        self._child.finish()
        told(why)
