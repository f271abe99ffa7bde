"""Commands as a model runs them."""

import asyncio
import re
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from robota.contracts.tool import BadArguments, ToolError, ToolResult
from robota.protocol.views import TerminalView
from robota.tools.command.execute_command import TOOL, ExecuteCommandParams
from robota.tools.command.report import MAX_CHARACTERS, shortened
from robota.workspace.output.capture import HeadAndTail
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.watchdog import CommandLimits
from tests.tools.workbench import Workbench

CALL = r'read_command_output \{"artifact_id":"[0-9a-f]{8}","offset":15000\}'


def test_the_exit_code_comes_first(bench: Workbench) -> None:
    result = bench.call("execute_command", command="echo out; exit 3")
    assert result.content == "Exit code: 3\nOutput:\nout\n"
    assert result.view == TerminalView(command="echo out; exit 3", output="out\n", exit_code=3)
    assert "".join(bench.shown) == "out\n"
    assert not result.is_error


def test_silence_is_said(bench: Workbench) -> None:
    assert bench.call("execute_command", command="true").content == "Exit code: 0\nNo output."


def test_signal_and_time_out_are_named(bench: Workbench) -> None:
    assert bench.call("execute_command", command="kill -KILL $$").content.startswith("Ended by signal: SIGKILL")
    result = bench.call("execute_command", command="echo x; exec sleep 1000", timeout=1)
    assert result.content == (
        "Timed out: the command was stopped after 1 s (signal SIGTERM).\n"
        "If it needs longer, give a larger timeout, or start it with background_process.\nOutput:\nx\n"
    )
    assert result.is_error


def test_what_was_left_running_is_mentioned(bench: Workbench) -> None:
    assert "left running were stopped" in bench.call("execute_command", command="sleep 1000 & echo x").content


@pytest.mark.parametrize("size", [30_001, 100_000, 5_000_000])
def test_a_long_output_loses_its_middle_and_is_kept_whole(bench: Workbench, size: int) -> None:
    command = f"printf a; head -c {size - 2} /dev/zero | tr '\\0' x; printf z"
    content = bench.call("execute_command", command=command).content
    output, _, rest = content.partition("Output:\n")[2].rpartition("\n")
    assert f"[… {size - 30_000:,} characters cut here …]" in output
    assert (output[0], output[-1]) == ("a", "z")
    assert len(output) < 30_100
    assert re.fullmatch(rf"\[{size - 30_000:,} characters were cut. To read them: {CALL}\]", rest)
    assert bench.all_kept == [b"a" + b"x" * (size - 2) + b"z"]


def test_a_very_long_output_is_moved_beside_the_log_and_leaves_no_temporary_file(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spools = tmp_path / "spools"
    spools.mkdir()
    monkeypatch.setenv("TMPDIR", str(spools))
    content = bench.call("execute_command", command="head -c 20000000 /dev/zero | tr '\\0' x").content
    assert "[19,970,000 characters were cut. To read them: read_command_output {" in content
    assert [len(data) for data in bench.all_kept] == [20_000_000]
    assert not list(spools.iterdir())


def test_it_runs_where_it_is_told_inside_the_workspace(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert str(tmp_path / "sub") in bench.call("execute_command", command="pwd", cwd="sub").content
    for cwd, message in (("..", "outside"), ("gone", "not an existing directory")):
        with pytest.raises(ToolError, match=message):
            bench.call("execute_command", command="pwd", cwd=cwd)


@pytest.mark.parametrize("command", ["", "  ", "a\0b", "x" * 1_000_000])
def test_impossible_commands_are_refused(bench: Workbench, command: str) -> None:
    with pytest.raises(ToolError, match=r"nothing was run|was not run"):
        bench.call("execute_command", command=command)


@pytest.mark.parametrize("timeout", [0, -1, 601])
def test_time_limits_have_limits(bench: Workbench, timeout: int) -> None:
    with pytest.raises(BadArguments):
        bench.call("execute_command", command="true", timeout=timeout)


def test_the_ask_is_the_command_itself(bench: Workbench) -> None:
    preview = bench.preview("execute_command", command="rm -r build")
    assert (preview.ask, preview.text) == ("command", "rm -r build")


def test_at_the_time_limit_it_can_go_on_in_the_background(bench: Workbench) -> None:
    async def scenario() -> ToolResult:
        params = ExecuteCommandParams(command="echo x; exec sleep 1000", timeout=1, on_timeout="background")
        try:
            prepared = await TOOL.prepare(params, bench)
            return await prepared.run()
        finally:
            bench.processes.close()

    result = asyncio.run(scenario())
    assert result.content.startswith("Still running after 1 s. It continues as background process bg1, without input;")
    assert result.content.endswith("\nOutput so far:\nx\n")
    assert result.view == TerminalView(command="echo x; exec sleep 1000", output="x\n")
    assert not result.is_error


def test_a_command_that_waits_for_typing_is_stopped_and_told_what_to_do(bench: Workbench) -> None:
    bench.processes = LocalProcesses(CommandLimits(silence_s=0.1))
    asking = f"{sys.executable} -c \"import pty; pty.spawn(['bash', '-c', 'printf Name:; read x'])\""
    result = bench.call("execute_command", command=asking)
    assert result.content.startswith("Stopped: the command waited for keyboard input (signal SIGTERM).\nNobody")
    assert result.content.endswith("Output:\nName:")
    assert result.is_error


def test_a_question_that_read_the_end_of_the_input_is_recognised(bench: Workbench) -> None:
    asked = bench.call("execute_command", command="printf 'Go on? [y/N] '; read x || exit 1").content
    assert "It seems to have asked a question." in asked
    assert "question" not in bench.call("execute_command", command="echo 'What?'; exit 1").content
    assert "question" not in bench.call("execute_command", command="printf 'What?'").content


def test_the_limit_of_the_user_is_told(bench: Workbench) -> None:
    bench.processes = LocalProcesses(CommandLimits(total_s=0.1))
    content = bench.call("execute_command", command="sleep 1000", timeout=600).content
    assert content.startswith("Stopped at the user's time limit, so do not run it again unchanged (signal SIG")


def test_a_flood_is_cut_and_its_beginning_kept(bench: Workbench) -> None:
    """More than is kept of any output."""
    content = bench.call("execute_command", command="truncate -s 300M big; cat big; yes | head -n 1000").content
    assert "characters cut here" in content and len(content) < 31_000
    assert "Only the first 268,435,456 of 314,574,800 bytes were saved. To read them: " in content
    assert "[the line above is repeated 998 more times]" in content


@pytest.mark.parametrize("made", ["seq -s ' ' 1000000 | head -c 5000000", "seq 500000"])
def test_five_megabytes_with_and_without_line_ends(bench: Workbench, made: str) -> None:
    content = bench.call("execute_command", command=made).content
    assert len(content) < 31_000 and "characters were cut. To read them: read_command_output {" in content


def test_lines_are_cut_only_between_lines(bench: Workbench) -> None:
    _, _, output = bench.call("execute_command", command="seq 100000").content.partition("Output:\n")
    before, _, after = output.partition("[…")
    assert [int(line) for line in before.split()] == list(range(1, before.count("\n") + 1))
    rest = [int(line) for line in after.splitlines()[1:-1]]
    assert rest == list(range(rest[0], 100_001))
    shown = len(before) + len("".join(f"{number}\n" for number in rest))
    assert f" {588_895 - shown:,} characters cut here …]" in after


@given(
    lines=st.lists(st.tuples(st.sampled_from(["", "a", "long " * 20, "é" * 4000]), st.integers(1, 300)), max_size=12),
    side=st.sampled_from([20_000, 70_000]),
)
@example(lines=[("", 104), ("long " * 20, 197), ("é" * 4000, 5)], side=20_000)
def test_what_is_shown_is_true(lines: list[tuple[str, int]], side: int) -> None:
    """Unfolding the repetitions and adding what was cut gives the length of the output; both ends are its own."""
    text = "".join(f"{line}\n" * count for line, count in lines)
    kept = HeadAndTail(side)
    kept.add(text)
    shown = shortened(kept.head, kept.tail, kept.total).text
    assert len(shown) <= MAX_CHARACTERS + 100
    unfolded = re.sub(
        r"([^\n]*\n)\[the line above is repeated ([\d,]+) more times\]\n",
        lambda found: found[1] * (int(found[2].replace(",", "")) + 1),
        shown,
    )
    before, cut, after = unfolded.partition("[… ")
    if not cut:
        assert unfolded == text
        return
    missing, _, end = after.partition(" characters cut here …]\n")
    begin = text[: len(text) - int(missing.replace(",", "")) - len(end)]
    assert text.endswith(end)
    assert before in (begin, f"{begin}\n"), "the remark about the cut stands on a line of its own"


@given(pieces=st.lists(st.text(max_size=30)), side=st.integers(1, 20))
def test_head_and_tail_are_those_of_the_text(pieces: list[str], side: int) -> None:
    kept, text = HeadAndTail(side), "".join(pieces)
    for piece in pieces:
        kept.add(piece)
    assert kept.total == len(text)
    assert kept.head == text[:side]
    assert kept.tail == text[side:][-side:]
