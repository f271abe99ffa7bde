"""Commands as a model runs them."""

from pathlib import Path

import msgspec
import pytest

from robota.contracts.tool import ToolError
from robota.protocol.views import TerminalView
from tests.tools.workbench import Workbench


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
    assert result.content == "Timed out: the command was stopped after 1 s.\nOutput:\nx\n"
    assert result.is_error


def test_what_was_left_running_is_mentioned(bench: Workbench) -> None:
    assert "left running were stopped" in bench.call("execute_command", command="sleep 1000 & echo x").content


@pytest.mark.parametrize("size", [30_001, 100_000, 5_000_000])
def test_a_long_output_loses_its_middle_and_is_kept_whole(bench: Workbench, size: int) -> None:
    command = f"printf a; head -c {size - 2} /dev/zero | tr '\\0' x; printf z"
    content = bench.call("execute_command", command=command).content
    head, _, output = content.partition("Output:\n")
    assert f"[… {size - 30_000:,} characters cut here …]" in output
    assert (output[0], output[-1]) == ("a", "z")
    assert len(output) < 30_100
    assert "The whole output was kept as " in head
    assert bench.all_kept == [b"a" + b"x" * (size - 2) + b"z"]


def test_a_very_long_output_is_moved_beside_the_log_and_leaves_no_temporary_file(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spools = tmp_path / "spools"
    spools.mkdir()
    monkeypatch.setenv("TMPDIR", str(spools))
    content = bench.call("execute_command", command="head -c 20000000 /dev/zero | tr '\\0' x").content
    assert "(20,000,000 bytes were printed)" in content
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
    with pytest.raises(msgspec.ValidationError):
        bench.call("execute_command", command="true", timeout=timeout)


def test_the_ask_is_the_command_itself(bench: Workbench) -> None:
    preview = bench.preview("execute_command", command="rm -r build")
    assert (preview.ask, preview.text) == ("command", "rm -r build")
