"""A command that is stopped is asked first, in every kind of sandbox, so that it can clean up."""

import asyncio
from pathlib import Path

import pytest

from robota.workspace.process.ending import StopReason
from robota.workspace.process.foreground import CommandOutcome
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.sandbox.backend import SandboxKind
from tests.harness.programs import needs
from tests.workspace.process.commanding import Witness
from tests.workspace.sandbox.cells import KINDS, Cell


def stopped(kind: SandboxKind, base: Path, command: str) -> CommandOutcome:
    """After it has printed something."""
    cell = Cell(kind, base)

    async def scenario() -> CommandOutcome:
        processes = LocalProcesses(wrap=cell.sandbox.wrap)
        heard = asyncio.Event()
        running = asyncio.ensure_future(processes.run(command, cell.root, 100, lambda _: heard.set()))
        try:
            await heard.wait()
            processes.abort_running()
            return await running
        finally:
            processes.close()

    witness = Witness(cell.root)
    outcome = asyncio.run(scenario())
    assert outcome.ending.stopped_for is StopReason.ABORTED
    assert witness.wait_until_gone() == b""
    return outcome


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_that_is_stopped_can_clean_up(kind: SandboxKind, tmp_path: Path) -> None:
    clean_up = "trap 'echo cleaned > file; echo bye; exit 5' TERM; sleep 1000 3> witness & echo up; wait"
    outcome = stopped(kind, tmp_path, clean_up)
    assert (outcome.output_head, outcome.exit_code) == ("up\nbye\n", 5)
    assert (tmp_path / "ws" / "file").read_text() == "cleaned\n"


@needs("setsid")
@pytest.mark.parametrize("kind", KINDS)
def test_a_command_that_does_not_want_to_end_ends(kind: SandboxKind, tmp_path: Path) -> None:
    stopped(
        kind, tmp_path, "trap '' TERM; env -i setsid -f sleep 1000 3> witness; echo up; while :; do sleep 1000; done"
    )
