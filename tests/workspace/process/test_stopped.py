"""Time in which Robota itself was stopped (Ctrl+Z, a suspended machine) does not count as the command's.

Each test holds one of the fences by itself. No test waits: the clock of the event loop jumps, as it does for a process
that was stopped, or the loop is kept from hearing what happened meanwhile.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from robota.workspace.process.command_process import CommandLaunch
from robota.workspace.process.environment import CommandEnvironment
from robota.workspace.process.foreground import CommandOutcome, ForegroundProcess
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.watchdog import CommandLimits
from tests.workspace.process.commanding import Witness

T = TypeVar("T")
STOPPED_FOR_S = 1_000
RUN = """
import asyncio, sys
from pathlib import Path
from robota.workspace.process.processes import LocalProcesses

async def main():
    processes = LocalProcesses()
    show = lambda text: print(text, end="", flush=True)
    done = await processes.run(sys.argv[1], Path(sys.argv[2]), 60, show)
    processes.close()
    print(done.ending.stopped_for, done.exit_code, flush=True)

asyncio.run(main())
"""


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be set forward."""

    skipped_s = 0.0

    def time(self) -> float:
        return super().time() + self.skipped_s


@pytest.mark.parametrize(
    ("timeout_s", "limits"), [(3, CommandLimits()), (None, CommandLimits(total_s=3))], ids=["time-out", "user limit"]
)
def test_a_command_that_still_runs_afterwards_has_its_time_left(
    tmp_path: Path, timeout_s: float | None, limits: CommandLimits
) -> None:
    os.mkfifo(tmp_path / "go")
    go = os.open(tmp_path / "go", os.O_RDWR)
    loop = JumpingLoop()

    def stopped(text: str) -> None:
        loop.skipped_s += STOPPED_FOR_S
        # Later than everything whose time has come by the jump.
        loop.call_later(0.2, os.write, go, b"go\n")

    async def main() -> CommandOutcome:
        processes = LocalProcesses(limits)
        try:
            return await processes.run("echo started; read word < go; exit 7", tmp_path, timeout_s, stopped)
        finally:
            processes.close()

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        done = runner.run(main())
    os.close(go)
    assert (done.ending.stopped_for, done.exit_code) == (None, 7)


def test_an_ended_command_counts_as_ended_before_the_loop_notices(tmp_path: Path) -> None:
    async def has_ended(process: ForegroundProcess) -> bool:
        # With no time left it must look for itself: the loop gets no turn here.
        is_over = await process.is_over(0)
        await process.give_up()
        return is_over

    assert with_ended_command(has_ended, tmp_path)


def test_what_has_ended_is_not_stopped_for_being_late(tmp_path: Path) -> None:
    async def late(process: ForegroundProcess) -> CommandOutcome:
        process.time_out()
        return await process.outcome()

    done = with_ended_command(late, tmp_path)
    assert (done.ending.stopped_for, done.exit_code) == (None, 7)


def with_ended_command(scenario: Callable[[ForegroundProcess], Awaitable[T]], directory: Path) -> T:
    """Start a command, wait for its end without a turn of the event loop, and go on with the scenario."""

    async def main() -> T:
        launch = CommandLaunch(command="exit 7", cwd=directory, mark="stopped", environment=CommandEnvironment())
        process = ForegroundProcess(launch, str(directory / "spool"), CommandLimits(), lambda _: None)
        os.waitid(os.P_PID, process.child.pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - that is the point
        return await scenario(process)

    return asyncio.run(main())


def test_a_command_that_ended_while_robota_was_stopped_has_succeeded(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    os.mkfifo(tmp_path / "go")
    command = "exec 3> witness; echo started; read word < go; exit 0"
    robota = subprocess.Popen([sys.executable, "-c", RUN, command, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert robota.stdout is not None
    assert robota.stdout.readline() == "started\n"
    robota.send_signal(signal.SIGSTOP)
    (tmp_path / "go").write_text("go\n")
    witness.wait_until_gone()
    robota.send_signal(signal.SIGCONT)
    assert robota.communicate()[0] == "None 0\n"
