"""Commands as real processes."""

import asyncio
import os
import resource
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.ending import Ending, StopReason
from robota.workspace.process.foreground import CommandOutcome
from robota.workspace.process.processes import LocalProcesses
from tests.workspace.process.commanding import Witness, leaving_nothing, run


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    with leaving_nothing():
        yield


def test_exit_code_and_both_outputs_in_order(tmp_path: Path) -> None:
    outcome = run("echo one; echo two >&2; echo three; exit 7", tmp_path)
    assert outcome.output_head == "one\ntwo\nthree\n"
    assert outcome.ending == Ending(exit_code=7)
    assert outcome.output_file is None


def test_a_signal_is_named(tmp_path: Path) -> None:
    outcome = run("kill -SEGV $$", tmp_path)
    assert outcome.ending == Ending(signal="SIGSEGV")


def test_there_is_no_terminal_and_no_input(tmp_path: Path) -> None:
    outcome = run('read answer; echo "$? $PWD"; test -t 0 || test -t 1 || echo no tty; : < /dev/tty', tmp_path)
    assert outcome.output_head.startswith(f"1 {tmp_path}\nno tty\n")
    assert outcome.exit_code != 0


def test_output_arrives_while_the_command_runs(tmp_path: Path) -> None:
    """The command waits for a file that only the listener makes, so it ends only if the output came in time."""
    go = tmp_path / "go"
    os.mkfifo(go)

    async def scenario() -> CommandOutcome:
        heard = asyncio.Event()
        running = asyncio.create_task(LocalProcesses().run("echo ready; cat go", tmp_path, 60, lambda _: heard.set()))
        await heard.wait()
        go.write_text("went\n")
        return await running

    assert asyncio.run(scenario()).output_head == "ready\nwent\n"


def test_a_character_split_over_two_writes_is_one_character(tmp_path: Path) -> None:
    seen: list[str] = []
    outcome = run(r"printf '\xc3'; read -t 0.05 < <(sleep 1); printf '\xa9\xff'", tmp_path, 60, seen.append)
    assert outcome.output_head == "".join(seen) == "é\ufffd"
    assert outcome.total_bytes == 3


def test_time_out_ends_the_whole_tree(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    outcome = run("(sleep 1000 3> witness & sleep 1000 3> witness & wait) & echo before; wait", tmp_path, 1)
    assert outcome.ending == Ending(signal="SIGTERM", stopped_for=StopReason.TIME_OUT)
    assert outcome.output_head == "before\n"
    assert witness.wait_until_gone() == b""


def test_who_ignores_term_is_killed_even_if_the_shell_obeys(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    stubborn = "bash -c 'trap \"\" TERM; echo up; while :; do sleep 1000; done' 3> witness"
    outcome = run(f"{stubborn} & wait", tmp_path, 1)
    assert outcome.ending.stopped_for is StopReason.TIME_OUT
    assert witness.wait_until_gone() == b""


def test_who_obeys_term_may_clean_up(tmp_path: Path) -> None:
    run("trap 'echo bye > cleaned; exit' TERM; sleep 1000 & wait", tmp_path, 1)
    assert (tmp_path / "cleaned").read_text() == "bye\n"


def _cancel_once_running(tmp_path: Path, cancel: Callable[["asyncio.Task[CommandOutcome]"], Awaitable[None]]) -> None:
    async def scenario() -> None:
        started = asyncio.Event()
        command = "trap '' TERM; (sleep 1000 & echo up; wait) 3> witness"
        task = asyncio.create_task(LocalProcesses().run(command, tmp_path, None, lambda _: started.set()))
        await started.wait()
        await cancel(task)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())


def test_cancelling_ends_the_whole_tree_and_is_passed_on(tmp_path: Path) -> None:
    witness = Witness(tmp_path)

    async def once(task: "asyncio.Task[CommandOutcome]") -> None:
        task.cancel()

    _cancel_once_running(tmp_path, once)
    assert witness.wait_until_gone() == b""


def test_a_cancelled_command_may_clean_up(tmp_path: Path) -> None:
    async def scenario() -> None:
        started = asyncio.Event()
        command = "trap 'echo bye > cleaned; exit' TERM; echo up; sleep 1000 & wait"
        task = asyncio.create_task(LocalProcesses().run(command, tmp_path, None, lambda _: started.set()))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert (tmp_path / "cleaned").read_text() == "bye\n"


def test_cancelling_twice_does_not_wait_out_the_grace(tmp_path: Path) -> None:
    witness = Witness(tmp_path)

    async def twice(task: "asyncio.Task[CommandOutcome]") -> None:
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()

    _cancel_once_running(tmp_path, twice)
    assert witness.wait_until_gone() == b""


def test_a_grandchild_that_holds_the_output_does_not_hold_us(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    outcome = run("sleep 1000 3> witness & echo done", tmp_path, None)
    assert (outcome.exit_code, outcome.output_head) == (0, "done\n")
    assert outcome.ending.left_behind
    assert witness.wait_until_gone() == b""


def test_close_ends_running_commands_and_their_waiters_get_an_outcome(tmp_path: Path) -> None:
    async def scenario() -> CommandOutcome:
        processes, started = LocalProcesses(), asyncio.Event()
        task = asyncio.create_task(processes.run("echo up; sleep 1000", tmp_path, None, lambda _: started.set()))
        await started.wait()
        processes.close()
        return await task

    assert asyncio.run(scenario()).ending == Ending(signal="SIGKILL")


def test_100_megabytes_are_kept_on_disk_and_not_in_memory(tmp_path: Path) -> None:
    pieces: list[int] = []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    command = "echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo last"
    outcome = run(command, tmp_path, None, lambda piece: pieces.append(len(piece)))
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert outcome.output_file is not None
    size = outcome.output_file.stat().st_size
    outcome.output_file.unlink()
    assert size == outcome.total_bytes == 100_000_011
    assert outcome.output_head.startswith("first\nxxx")
    assert outcome.output_tail.endswith("xxxlast\n")
    assert len(outcome.output_head) + len(outcome.output_tail) <= 128 * 1024
    assert max(pieces) < 20_000
    assert grown_kib < 20_000


def test_a_cancelled_flood_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spools = tmp_path / "spools"
    spools.mkdir()
    monkeypatch.setenv("TMPDIR", str(spools))

    async def scenario() -> None:
        spooling = asyncio.Event()
        task = asyncio.create_task(
            LocalProcesses().run("yes", tmp_path, None, lambda _: spooling.set() if any(spools.iterdir()) else None)
        )
        await spooling.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert list(spools.iterdir()) == []


def test_without_room_to_spool_both_ends_are_still_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "not-there"))
    outcome = run("echo first; head -c 1000000 /dev/zero | tr '\\0' x; echo last", tmp_path)
    assert outcome.output_file is None
    assert outcome.output_head.startswith("first")
    assert outcome.output_tail.endswith("last\n")


def test_a_deleted_directory_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(CommandNotStarted, match="gone' does not exist"):
        run("true", tmp_path / "gone")


@pytest.mark.parametrize("command", ["a\0b", "x" * 1_000_000])
def test_a_command_the_system_cannot_take_is_a_clear_error(tmp_path: Path, command: str) -> None:
    with pytest.raises(CommandNotStarted, match="was not run"):
        run(command, tmp_path)
