"""What a command started is found and ended, wherever it hid."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from robota.workspace.process.ending import Ending, StopReason
from robota.workspace.process.foreground import CommandOutcome
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.watchdog import CommandLimits
from tests.harness.programs import needs
from tests.workspace.process.commanding import Witness, leaving_nothing, run, with_processes

pytestmark = needs("setsid")

LAST_PID = "/proc/sys/kernel/ns_last_pid"
DAEMON = """
import os, signal, sys
if os.fork():
    sys.exit()
os.setsid()
if os.fork():
    os._exit(0)
for number in range(3):
    os.close(number)
open("ready", "w").close()
signal.pause()
"""


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    with leaving_nothing():
        yield


def test_a_process_in_a_session_of_its_own_is_gone_when_the_command_ends(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    outcome = run("setsid sleep 1000 3> witness > /dev/null 2>&1 & echo done", tmp_path, None)
    assert outcome.ending == Ending(exit_code=0, left_behind=True)
    assert outcome.output_head == "done\n"
    assert witness.wait_until_gone() == b""


def test_a_daemon_is_gone_when_the_command_ends(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    (tmp_path / "daemon.py").write_text(DAEMON)
    outcome = run(f"{sys.executable} -S daemon.py 3> witness; until [ -e ready ]; do :; done", tmp_path)
    assert outcome.ending.left_behind
    assert witness.wait_until_gone() == b""


@pytest.mark.parametrize("hiding", ["env -i setsid sleep 1000", "env -i sleep 1000", "setsid -f sleep 1000"])
def test_hiding_from_one_way_of_being_found_is_not_enough(tmp_path: Path, hiding: str) -> None:
    """A time limit meets them while their parent still lives."""
    witness = Witness(tmp_path)
    outcome = run(f"(trap '' TERM; {hiding} 3> witness & sleep 1000) & echo up; wait", tmp_path, 1)
    assert outcome.ending.stopped_for is StopReason.TIME_OUT
    assert witness.wait_until_gone() == b""


@pytest.mark.skipif(not os.access(LAST_PID, os.W_OK), reason="only root may choose the next pid")
def test_a_child_with_a_smaller_pid_than_its_parent_is_found(tmp_path: Path) -> None:
    """Pids start again from the lowest when they reach the highest."""
    witness = Witness(tmp_path)
    hidden = f"echo 300 > {LAST_PID}; env -i setsid sleep 1000 3> witness & wait"
    outcome = run(f"(trap '' TERM; {hidden}) & echo up; wait", tmp_path, 1)
    assert outcome.ending.stopped_for is StopReason.TIME_OUT
    assert witness.wait_until_gone() == b""


def test_who_left_the_group_may_clean_up_too(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    polite = "trap 'echo bye > cleaned; exit' TERM; echo up; while :; do sleep 0.01; done"
    run(f'setsid bash -c "{polite}" 3> witness & wait', tmp_path, 1)
    assert witness.wait_until_gone() == b""
    assert (tmp_path / "cleaned").read_text() == "bye\n"


def test_who_ignores_term_and_holds_the_output_through_a_grandchild_does_not_hold_us(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    stubborn = 'trap "" TERM; (setsid sleep 1000 & sleep 1000 & wait) & wait'
    outcome = run(f"bash -c '{stubborn}' 3> witness; echo never", tmp_path, 1)
    assert outcome.ending.stopped_for is StopReason.TIME_OUT
    assert "never" not in outcome.output_head
    assert witness.wait_until_gone() == b""


def test_a_child_that_just_ended_is_not_reported_as_left_running(tmp_path: Path) -> None:
    assert run("(true &); true & wait; echo x", tmp_path).ending == Ending(exit_code=0)


def test_processes_of_others_are_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "1000"]) as other:
        run("sleep 1000 & true", tmp_path)
        assert other.poll() is None
        other.kill()


def test_a_crowd_of_processes_is_ended(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    crowd = "for i in $(seq 150); do sleep 1000 & done 3> witness; wait"
    outcome = run(crowd, tmp_path, None, limits=CommandLimits(processes=100))
    assert outcome.ending.stopped_for is StopReason.TOO_MANY_PROCESSES
    assert witness.wait_until_gone() == b""


def test_the_limit_of_the_user_cannot_be_raised_by_a_call(tmp_path: Path) -> None:
    outcome = run("sleep 1000", tmp_path, 600, limits=CommandLimits(total_s=0.1))
    assert outcome.ending == Ending(signal="SIGTERM", stopped_for=StopReason.USER_LIMIT)


def test_abort_ends_also_who_ignores_term(tmp_path: Path) -> None:
    async def scenario(processes: LocalProcesses) -> CommandOutcome:
        started = asyncio.Event()
        command = "trap '' TERM; echo up; while :; do sleep 1000; done"
        task = asyncio.create_task(processes.run(command, tmp_path, None, lambda _: started.set()))
        await started.wait()
        assert processes.is_running
        processes.abort_running()
        return await task

    assert with_processes(scenario).ending == Ending(signal="SIGKILL", stopped_for=StopReason.ABORTED)


KILLED = """
import asyncio, sys
from pathlib import Path
from robota.workspace.process.processes import LocalProcesses

async def main():
    processes = LocalProcesses()
    processes.start_background("sleep 1000 3> witness", Path())
    flood = "(setsid sleep 1000 &) 3> witness; head -c 1000000 /dev/zero; echo up > up; sleep 1000 3> witness"
    await processes.run(flood, Path(), None, lambda text: None)

asyncio.run(main())
"""


def test_when_robota_is_killed_its_commands_and_their_files_go_too(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    os.mkfifo(tmp_path / "up")
    (tmp_path / "spools").mkdir()
    env = {**os.environ, "TMPDIR": str(tmp_path / "spools")}
    with subprocess.Popen([sys.executable, "-c", KILLED], cwd=tmp_path, env=env) as robota:
        assert (tmp_path / "up").read_text() == "up\n"
        assert len(list((tmp_path / "spools").iterdir())) == 1
        guardian = next(pid for pid in _children_of(robota.pid) if b"robota-guardian" in _command_line(pid))
        end_of_guardian = os.pidfd_open(guardian)
        robota.send_signal(signal.SIGKILL)
    assert witness.wait_until_gone() == b""
    _wait_for(end_of_guardian)
    assert not list((tmp_path / "spools").iterdir())


def _children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def _wait_for(end_of_process: int) -> None:
    select.select([end_of_process], [], [])
    os.close(end_of_process)
