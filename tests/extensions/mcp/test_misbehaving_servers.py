"""MCP servers that hang, flood, lie or die cause a clear error, and the session continues."""

import os
import select
import subprocess
from pathlib import Path
from typing import Any

import pytest

from robota.protocol.commands import CancelTask
from robota.protocol.events import Notice, ToolStart
from tests.cli.scripts import call
from tests.engine.stage import Stage, tool_results
from tests.extensions.mcp.setup import (
    DONE,
    WRITE_NOTE,
    PlainServer,
    configure,
    first_result,
    play_story,
    play_with,
    run_with,
)
from tests.harness.cli import EXECUTABLE, Robota, clean_environment

LONGEST_WAIT_S = 60
OTHER = {"calls": [call("mcp__other__note", text="still there")]}


def two_servers(directory: Path, **options: Any) -> dict[str, Any]:
    """A misbehaving server, and a good one."""
    return {
        "plain": PlainServer(directory).entry(**options),
        "other": PlainServer(directory, name="other").entry(),
    }


@pytest.mark.parametrize(
    ("trick", "words"),
    [
        ("leave", "it ended with exit code 3. Its last output: out of ‹U+001B›[31mcheese"),
        ("be_killed", "signal 9 ended it"),
        ("send_a_giant_line", "it sent a line of more than 16 MiB"),
        ("stop_listening", "it closed its output"),
    ],
)
def test_a_server_that_fails_in_mid_call_is_an_error_and_the_others_go_on(
    workspace: Path, tmp_path: Path, trick: str, words: str
) -> None:
    def check(stage: Stage) -> None:
        failed, other, again = tool_results(stage)
        assert failed.is_error and f"The MCP server plain failed: {words}" in failed.content
        assert not other.is_error and "plain answer" in other.content
        assert again.is_error and "It starts again with the next session" in again.content

    play_with(workspace, two_servers(tmp_path, at_call=trick), [WRITE_NOTE, OTHER, WRITE_NOTE, DONE], check)


@pytest.mark.parametrize(
    ("trick", "words"),
    [
        ("hang", "it did not answer within 0.3 s."),
        ("talk_nonsense_for_ever", "it did not answer within 0.3 s (lines that are not of the protocol: 3, the last"),
    ],
)
def test_a_call_to_a_server_that_never_answers_times_out(
    workspace: Path, tmp_path: Path, trick: str, words: str
) -> None:
    def check(stage: Stage) -> None:
        failed, other = tool_results(stage)
        assert failed.is_error and words in failed.content
        assert not other.is_error

    play_with(workspace, two_servers(tmp_path, timeout=300, at_call=trick), [WRITE_NOTE, OTHER, DONE], check)


@pytest.mark.parametrize("trick", ["talk_nonsense", "flood_stderr"])
@pytest.mark.parametrize("moment", ["at_start", "at_call"])
def test_nonsense_and_a_gigabyte_of_standard_error_do_no_harm(
    workspace: Path, tmp_path: Path, trick: str, moment: str
) -> None:
    def check(stage: Stage) -> None:
        assert "plain answer" in first_result(stage)

    tricks: dict[str, Any] = {moment: trick}
    play_with(workspace, {"plain": PlainServer(tmp_path).entry(**tricks)}, [WRITE_NOTE, DONE], check)


def test_a_server_that_dies_at_start_is_a_notice_and_the_others_work(workspace: Path, tmp_path: Path) -> None:
    def check(stage: Stage) -> None:
        assert "plain answer" in first_result(stage)
        words = "\n".join(notice.text for notice in stage.events_of(Notice))
        assert "The MCP server plain does not work: it ended with exit code 3. Its last output: out of" in words

    play_with(workspace, two_servers(tmp_path, at_start="leave"), [OTHER, DONE], check)


def test_a_server_that_hangs_at_start_does_not_hold_up_the_session(robota: Robota, tmp_path: Path) -> None:
    entry = PlainServer(tmp_path).entry(at_start="hang")
    done = run_with(robota, {"plain": entry}, [DONE], MCP_TIMEOUT="200")
    assert done.code == 0 and done.stdout == "done\n"
    assert "The MCP server plain does not work: it was not ready within 0.2 s" in done.stderr


def test_a_server_that_exits_at_the_version_request_is_restarted_in_legacy_mode(
    workspace: Path, tmp_path: Path
) -> None:
    def check(stage: Stage) -> None:
        assert "plain answer" in first_result(stage)

    play_with(workspace, {"plain": PlainServer(tmp_path).entry(is_strict=True)}, [WRITE_NOTE, DONE], check)


def test_the_last_error_output_of_a_dead_server_is_shown(robota: Robota, tmp_path: Path) -> None:
    run_with(robota, {"plain": PlainServer(tmp_path).entry(at_start="leave")}, [DONE])
    listed = robota("mcp", "list")
    assert listed.code == 1 and "exit code 3" in listed.stdout and "| out of" in listed.stdout
    assert "\x1b" not in listed.stdout


def test_a_call_can_be_cancelled(workspace: Path, tmp_path: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until(lambda event: isinstance(event, ToolStart))
        await stage.submit(CancelTask())
        await stage.until_ask("resume_task")

    entry = PlainServer(tmp_path).entry(at_call="hang")
    play_story(workspace, {"plain": entry}, [WRITE_NOTE], story, mode="bypassPermissions")


@pytest.mark.parametrize("moment", ["at_start", "at_call"])
def test_a_server_ends_with_the_session_and_so_does_all_it_started(
    workspace: Path, tmp_path: Path, moment: str
) -> None:
    server = PlainServer(tmp_path)
    trick = "leave_a_child" if moment == "at_start" else "ignore_every_wish_to_end"
    entry = server.entry(timeout=300, **{moment: trick})
    play_with(workspace, {"plain": entry}, [DONE] if moment == "at_start" else [WRITE_NOTE, DONE], lambda stage: None)
    pids = [int(pid) for pid in server.calls.read_text().split()]
    assert len(pids) == 2 and all(map(ends, pids))


def test_a_server_dies_also_if_robota_is_killed(robota: Robota, tmp_path: Path) -> None:
    server = PlainServer(tmp_path)
    os.mkfifo(server.calls)
    configure(robota, {"plain": server.entry(at_start="leave_a_child")}, [{"text": "…", "delayMs": 100_000}])
    env = clean_environment(robota.home)
    process = subprocess.Popen([str(EXECUTABLE), "-p", "go"], cwd=robota.workspace, env=env, stdin=subprocess.DEVNULL)
    try:
        pids = [int(pid) for pid in server.calls.read_text().split()]
        watched = [os.pidfd_open(pid) for pid in pids]
    finally:
        process.kill()
        process.wait()
    assert all([has_ended(descriptor) for descriptor in watched])


def ends(pid: int) -> bool:
    """Whether the process is gone, or on its way: a KILL takes a moment to have its effect."""
    try:
        return has_ended(os.pidfd_open(pid))
    except ProcessLookupError:
        return True


def has_ended(descriptor: int) -> bool:
    ended, _, _ = select.select([descriptor], [], [], LONGEST_WAIT_S)
    os.close(descriptor)
    return bool(ended)
