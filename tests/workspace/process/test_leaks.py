"""After hundreds of commands of all kinds nothing is left: no process, no descriptor, no file."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from robota.workspace.process.background import BackgroundProcess
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.watchdog import CommandLimits
from tests.harness.programs import needs
from tests.workspace.process.commanding import Witness, leaving_nothing, with_processes

pytestmark = needs("setsid")

AT_ONCE = 40
ROUNDS = 8
QUICK_S = 0.2
LOOKS = 20

Kind = Callable[[LocalProcesses, Path], Awaitable[object]]


def runs(command: str, timeout_s: float | None = None) -> Kind:
    return lambda processes, cwd: processes.run(command, cwd, timeout_s, lambda _: None)


def cancelled(command: str) -> Kind:
    """Cancelled as soon as it has printed something."""

    async def kind(processes: LocalProcesses, cwd: Path) -> None:
        started = asyncio.Event()
        task = asyncio.create_task(processes.run(command, cwd, None, lambda _: started.set()))
        await started.wait()
        task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled()

    return kind


async def stopped_in_background(processes: LocalProcesses, cwd: Path) -> None:
    process = processes.start_background("(setsid sleep 1000 &); cat", cwd)
    await process.send(b"x\n", then_close=False)
    await process.new_output(60)
    await process.stop()


async def handed_over(processes: LocalProcesses, cwd: Path) -> None:
    process = await processes.run_or_hand_over("echo x; sleep 1000 & wait", cwd, QUICK_S, lambda _: None)
    assert isinstance(process, BackgroundProcess)
    process.end_now()


async def flooded(processes: LocalProcesses, cwd: Path) -> None:
    outcome = await processes.run("head -c 300000 /dev/zero", cwd, None, lambda _: None)
    assert outcome.output_file is not None
    outcome.output_file.unlink()


KINDS: tuple[Kind, ...] = (
    runs("echo plain; exit 3"),
    runs("kill -KILL $$"),
    runs("sleep 1000", QUICK_S),
    runs("sleep 1000 & sleep 1000 & echo forked"),
    runs("(setsid sleep 1000 &) ; echo double forked"),
    runs("setsid bash -c 'sleep 1000 & sleep 1000' > /dev/null 2>&1 & echo silent"),
    runs("(sleep 1000 & setsid sleep 1000 & wait) & wait", QUICK_S),
    runs("set -m; sleep 1000 & echo job control"),
    cancelled("echo up; sleep 1000"),
    cancelled("setsid sleep 1000 & yes"),
    cancelled("head -c 300000 /dev/zero; sleep 1000"),
    stopped_in_background,
    handed_over,
    flooded,
)
# These wait out the grace, so they come all together.
STUBBORN = runs("trap '' TERM; setsid sleep 1000 & while :; do sleep 1000; done", QUICK_S)


def test_hundreds_of_commands_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spools").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spools"))
    monkeypatch.setenv("LEAK_TEST", str(tmp_path))
    witness = Witness(tmp_path)

    async def scenario(processes: LocalProcesses) -> None:
        for number in range(ROUNDS):
            kinds = [STUBBORN if number == 0 else KINDS[at % len(KINDS)] for at in range(AT_ONCE)]
            await asyncio.gather(*(kind(processes, tmp_path) for kind in kinds))
        await asyncio.gather(*(runs("exec sleep 1000 3> witness", QUICK_S)(processes, tmp_path) for _ in range(3)))

    with leaving_nothing():
        with_processes(scenario, CommandLimits(silence_s=None))
    assert witness.wait_until_gone() == b""
    assert not list((tmp_path / "spools").iterdir())
    assert _still_living_with(f"LEAK_TEST={tmp_path}".encode()) == []


def _still_living_with(variable: bytes) -> list[bytes]:
    """Several looks, because a process that was killed a moment ago needs a moment to die."""
    for _ in range(LOOKS):
        found = _living_with(variable)
        if not found:
            break
    return found


def _living_with(variable: bytes) -> list[bytes]:
    """The command lines of processes other than this one that were started with the variable."""
    found = []
    for place in Path("/proc").iterdir():
        if not place.name.isdecimal() or int(place.name) == os.getpid():
            continue
        try:
            if variable in (place / "environ").read_bytes():
                found.append((place / "cmdline").read_bytes())
        except OSError:
            continue
    return found
