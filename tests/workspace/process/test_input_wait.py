"""A command that waits for somebody to type is noticed. The terminals are real, made by the command itself."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from robota.workspace.process.ending import StopReason
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.watchdog import CommandLimits
from tests.workspace.process.commanding import leaving_nothing, run, with_processes

# Gives a program a terminal of its own, as expect and script do, and types nothing.
IN_TERMINAL = f"{sys.executable} -c \"import pty, sys; pty.spawn(['bash', '-c', sys.argv[1]])\""
IMPATIENT = CommandLimits(silence_s=0.1)


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    with leaving_nothing():
        yield


@pytest.mark.parametrize("asking", ["printf Name:; read name", "printf '> '; read -e name", "exec cat"])
def test_waiting_at_a_terminal_of_its_own_is_noticed(tmp_path: Path, asking: str) -> None:
    outcome = run(f'{IN_TERMINAL} "{asking}"', tmp_path, None, limits=IMPATIENT)
    assert outcome.ending.stopped_for is StopReason.WAITED_FOR_INPUT


@pytest.mark.parametrize(
    "working",
    [
        f'{IN_TERMINAL} "sleep 2; echo done"',  # has a terminal, but does not read it
        f'{IN_TERMINAL} "read name" & sleep 2; echo done',  # one reads, the other works
        "mkfifo p; (sleep 2; echo done > p) & cat p",  # waits for another process and not for a user
    ],
)
def test_who_works_or_waits_for_another_process_is_left_alone(tmp_path: Path, working: str) -> None:
    outcome = run(working, tmp_path, None, limits=IMPATIENT)
    assert outcome.ending.stopped_for is None
    assert "done" in outcome.output_head


def test_a_background_process_says_that_it_waits_for_input(tmp_path: Path) -> None:
    async def scenario(processes: LocalProcesses) -> list[bool]:
        reader = processes.start_background("read name; echo got $name; sleep 1000", tmp_path)
        # Nothing tells when a process has gone to sleep, so look until it has; the suite's time limit ends a failure.
        while not reader.waits_for_input():
            await reader.new_output(0.01)
        await reader.send(b"x\n", then_close=False)
        assert "got x" in (await reader.new_output(60)).head
        return [reader.has_input, reader.waits_for_input()]

    assert with_processes(scenario) == [True, False]
