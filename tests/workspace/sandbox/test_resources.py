"""A runaway command is ended, in every kind of sandbox and without one, while Robota continues."""

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from robota.tools.command.report import how_it_ended
from robota.workspace.process.ending import StopReason
from robota.workspace.process.foreground import CommandOutcome
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.watchdog import CommandLimits, memory_in_use, memory_of, total_memory
from robota.workspace.process.wrapped_command import CommandWrapper, unwrapped
from robota.workspace.sandbox.backend import SandboxKind
from tests.workspace.process.commanding import Witness
from tests.workspace.sandbox.cells import KINDS, PYTHON, Cell

MEGABYTE = 1 << 20
# Twice as many in every step, up to 2,048.
BOMB = "import os, time\nfor _ in range(11): os.fork()\ntime.sleep(1000)"
# Far more than it is if every process was counted by itself, because all of them have the same pages.
SHARED = """
import os, sys
kept = bytearray(os.urandom(1 << 20)) * 120
pids = [os.getpid()]
reader, writer = os.pipe()
for _ in range(6):
    pid = os.fork()
    if pid == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    pids.append(pid)
print(*pids, flush=True)
sys.stdin.read()
"""


class Ground:
    """Where commands of this test run, in one kind of sandbox or in none."""

    root: Path
    _wrap: CommandWrapper

    def __init__(self, kind: SandboxKind, base: Path) -> None:
        if kind is SandboxKind.NONE:
            self.root, self._wrap = base, unwrapped
        else:
            cell = Cell(kind, base)
            self.root, self._wrap = cell.root, cell.sandbox.wrap

    def run(self, command: str, limits: CommandLimits | None = None) -> CommandOutcome:
        async def scenario() -> CommandOutcome:
            processes = LocalProcesses(limits, wrap=self._wrap)
            try:
                return await processes.run(command, self.root, 100, lambda _: None)
            finally:
                processes.close()

        return asyncio.run(scenario())


@pytest.fixture(params=[*KINDS, SandboxKind.NONE])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Ground:
    return Ground(request.param, tmp_path)


def python(script: str) -> str:
    return f"exec {PYTHON} -c '{script}'"


def test_a_bomb_of_processes_is_ended(ground: Ground) -> None:
    witness = Witness(ground.root)
    ending = ground.run(f"{PYTHON} -c '{BOMB}' 3> witness", CommandLimits(processes=100)).ending
    assert ending.stopped_for is StopReason.TOO_MANY_PROCESSES
    assert witness.wait_until_gone() == b""


def test_a_command_that_takes_too_much_memory_is_ended(ground: Ground) -> None:
    hold = python("import os, time; kept = bytearray(os.urandom(1 << 20)) * 200; time.sleep(1000)")
    ending = ground.run(hold, CommandLimits(memory_bytes=100 * MEGABYTE)).ending
    assert ending.stopped_for is StopReason.TOO_MUCH_MEMORY
    assert "memory" in how_it_ended(ending)[0]


def test_memory_of_several_processes_counts_together(ground: Ground) -> None:
    hold = "import os, time; os.fork(); kept = bytearray(os.urandom(1 << 20)) * 80; time.sleep(1000)"
    ending = ground.run(python(hold), CommandLimits(memory_bytes=120 * MEGABYTE)).ending
    assert ending.stopped_for is StopReason.TOO_MUCH_MEMORY


def test_what_processes_share_counts_once() -> None:
    with subprocess.Popen([PYTHON, "-c", SHARED], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        pids = [int(word) for word in holder.stdout.readline().split()]
        assert len(pids) == 7
        assert memory_of(pids, more_than=1 << 40) > 500 * MEGABYTE
        assert 120 * MEGABYTE < memory_of(pids, more_than=0) < 300 * MEGABYTE


@pytest.mark.parametrize("known", [total_memory, memory_in_use])
def test_the_machine_says_how_much_memory_it_has(known: Callable[[], int | None]) -> None:
    assert (known() or 0) > 10 * MEGABYTE


def test_the_kernel_takes_a_command_before_robota(ground: Ground) -> None:
    """It is told so right after the start, so the command looks until it has been."""
    wait = 'until test "$(cat /proc/self/oom_score_adj)" -ge 500; do :; done; echo told'
    assert ground.run(wait).output_head == "told\n"
    assert int(Path("/proc/self/oom_score_adj").read_text()) < 500


@pytest.mark.parametrize("kind", KINDS)
def test_a_sandboxed_command_never_runs_without_that(kind: SandboxKind, tmp_path: Path) -> None:
    """It is set before anything of the command runs, however busy the machine is."""
    first = Cell(kind, tmp_path).run("cat /proc/self/oom_score_adj").stdout
    assert int(first) >= 500


@pytest.mark.parametrize("kind", KINDS)
def test_no_core_and_no_endless_file(kind: SandboxKind, tmp_path: Path) -> None:
    assert Ground(kind, tmp_path).run("ulimit -c; ulimit -f").output_head == "0\n16777216\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="the kernel does not count the processes of root")
def test_the_kernel_counts_the_processes_of_a_sandbox(tmp_path: Path) -> None:
    assert Ground(SandboxKind.BUBBLEWRAP, tmp_path).run("ulimit -u").output_head == "4096\n"
