"""Commands in the background: read, written to, stopped, handed over, and gone with the session."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.background import BackgroundProcess, InputNotSent
from robota.workspace.process.ending import Ending, StopReason
from robota.workspace.process.foreground import CommandOutcome
from robota.workspace.process.processes import MAX_IN_BACKGROUND, LocalProcesses
from robota.workspace.process.watchdog import CommandLimits
from tests.harness.programs import needs
from tests.workspace.process.commanding import Witness, leaving_nothing, with_processes

FOREVER = 60.0  # far longer than what it stands for


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    with leaving_nothing():
        yield


async def read_until(process: BackgroundProcess, wanted: str) -> str:
    text = ""
    while wanted not in text:
        news = await process.new_output(FOREVER)
        text += news.head + news.tail
        assert news.total_characters or process.ending is None, text
    return text


def test_a_conversation(tmp_path: Path) -> None:
    async def scenario(processes: LocalProcesses) -> None:
        process = processes.start_background('while read line; do echo "<$line>"; done; echo over', tmp_path)
        await process.send(b"one\n", then_close=False)
        assert await read_until(process, "<one>\n") == "<one>\n"
        await process.send("zwölf\n".encode(), then_close=True)
        assert await read_until(process, "over\n") == "<zwölf>\nover\n"
        await process.new_output(FOREVER)
        assert process.ending == Ending(exit_code=0)
        assert process.last_text == "<one>\n<zwölf>\nover\n"

    with_processes(scenario)


def test_new_output_is_returned_once_and_a_flood_keeps_both_ends(tmp_path: Path) -> None:
    async def scenario(processes: LocalProcesses) -> None:
        process = processes.start_background("read x; echo first; head -c 1000000 /dev/zero; echo last", tmp_path)
        assert (await process.new_output(0)).total_characters == 0
        await process.send(b"\n", then_close=False)
        await process.ended.wait()
        news = await process.new_output(0)
        assert news.total_characters == 1_000_011
        assert news.head.startswith("first\n") and news.tail.endswith("last\n")
        assert len(news.head + news.tail) < 40_000
        assert (await process.new_output(0)).total_characters == 0
        file = process.output_file()
        assert file is not None and file.stat().st_size == 1_000_011

    with_processes(scenario)


@needs("setsid")
def test_stop_ends_the_whole_tree(tmp_path: Path) -> None:
    witness = Witness(tmp_path)

    async def scenario(processes: LocalProcesses) -> None:
        stubborn = "trap '' TERM; setsid sleep 1000 3> witness & sleep 1000 3> witness & echo up; wait; wait"
        process = processes.start_background(stubborn, tmp_path)
        await read_until(process, "up")
        assert await process.stop() == Ending(signal="SIGKILL", stopped_for=StopReason.REQUESTED)
        assert await process.stop() == process.ending

    with_processes(scenario)
    assert witness.wait_until_gone() == b""


@pytest.mark.parametrize("politely", [True, False])
def test_all_end_with_the_session_and_their_files_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, politely: bool
) -> None:
    witness = Witness(tmp_path)
    (tmp_path / "spools").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spools"))

    async def scenario(processes: LocalProcesses) -> None:
        command = "trap 'echo bye > cleaned; exit' TERM; head -c 1000000 /dev/zero; echo up; sleep 1000 & wait"
        process = processes.start_background(f"({command}) 3> witness", tmp_path)
        while not process.last_text.endswith("up\n"):
            await process.new_output(FOREVER)
        assert list((tmp_path / "spools").iterdir())
        if politely:
            await processes.end_background()

    with_processes(scenario)
    assert witness.wait_until_gone() == b""
    assert not list((tmp_path / "spools").iterdir())
    assert (tmp_path / "cleaned").exists() is politely


def test_a_session_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    """The event loop ends without a call of `close`."""
    witness = Witness(tmp_path)

    async def scenario() -> None:
        process = LocalProcesses().start_background("echo up; exec sleep 1000 3> witness", tmp_path)
        await read_until(process, "up")

    asyncio.run(scenario())
    assert witness.wait_until_gone() == b""


def test_at_its_time_limit_a_command_continues_in_the_background(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    shown: list[str] = []

    async def scenario(processes: LocalProcesses) -> None:
        command = "echo before; cat go; echo after; exit 3"
        process = await processes.run_or_hand_over(command, tmp_path, 0.5, shown.append)
        assert isinstance(process, BackgroundProcess)
        assert processes.find_background(process.id) is process
        assert process.output.head == "before\n" and not process.has_input
        assert not processes.is_running
        with pytest.raises(InputNotSent, match="no open input"):
            await process.send(b"x", then_close=False)
        (tmp_path / "go").write_text("went\n")
        assert await read_until(process, "after\n") == "went\nafter\n"
        await process.new_output(FOREVER)
        assert process.ending == Ending(exit_code=3)
        assert process.last_text == "before\nwent\nafter\n"

    with_processes(scenario)
    assert shown == ["before\n"]


def test_who_ends_in_time_is_not_handed_over(tmp_path: Path) -> None:
    outcome = with_processes(lambda processes: processes.run_or_hand_over("echo x", tmp_path, 60, lambda _: None))
    assert isinstance(outcome, CommandOutcome)
    assert (outcome.exit_code, outcome.output_head) == (0, "x\n")


def test_the_limit_of_the_user_also_ends_commands_moved_to_the_background(tmp_path: Path) -> None:
    async def scenario(processes: LocalProcesses) -> None:
        process = await processes.run_or_hand_over("sleep 1000", tmp_path, 0.1, lambda _: None)
        assert isinstance(process, BackgroundProcess)
        await process.new_output(FOREVER)
        assert process.ending == Ending(signal="SIGTERM", stopped_for=StopReason.USER_LIMIT)

    with_processes(scenario, CommandLimits(total_s=0.4))


def test_who_does_not_read_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    async def scenario(processes: LocalProcesses) -> None:
        process = processes.start_background("sleep 1000", tmp_path)
        with pytest.raises(InputNotSent, match=r"took 65,536 of 1,000,000 bytes"):
            await process.send(b"x" * 1_000_000, then_close=False)
        closed = processes.start_background("exec <&-; echo closed; sleep 1000", tmp_path)
        await read_until(closed, "closed")
        with pytest.raises(InputNotSent, match="has closed its input, so nothing more"):
            await closed.send(b"x", then_close=False)

    with_processes(scenario)


def test_there_is_an_end_to_starting(tmp_path: Path) -> None:
    async def scenario(processes: LocalProcesses) -> None:
        for _ in range(MAX_IN_BACKGROUND):
            processes.start_background("sleep 1000", tmp_path)
        with pytest.raises(CommandNotStarted, match="Stop one of them first"):
            processes.start_background("sleep 1000", tmp_path)
        await processes.background[0].stop()
        processes.start_background("sleep 1000", tmp_path)

    with_processes(scenario)


@pytest.mark.parametrize("way", ["run", "run_or_move"])
def test_only_a_command_whose_caller_lets_it_go_can_be_moved(tmp_path: Path, way: str) -> None:
    async def story(processes: LocalProcesses) -> bool:
        begun = asyncio.Event()
        command = "echo begun; until [ -e go ]; do sleep 0.02; done; echo ended"
        running = asyncio.create_task(getattr(processes, way)(command, tmp_path, 60, lambda _: begun.set()))
        await begun.wait()
        was_moved = processes.move_running()
        (tmp_path / "go").touch()
        ended = await running
        if was_moved:
            await ended.ended.wait()
            assert ended.was_moved and ended.ending.exit_code == 0 and ended.output.head == "begun\nended\n"
        else:
            assert ended.exit_code == 0 and ended.output_head == "begun\nended\n"
        return was_moved

    assert with_processes(story) is (way == "run_or_move")
