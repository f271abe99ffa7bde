"""Hooks as processes: none outlives its moment, none can hang or flood a session, none has a terminal."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from robota.config.trust.decision import remember
from robota.config.trust.sources import take_snapshot
from robota.protocol.events import Notice
from robota.workspace.outside_program import ProgramStart
from robota.workspace.process.filter_process import OUTPUT_BYTES, FilterOutcome, run_filter
from tests.cli.scripts import call as cli_call
from tests.cli.scripts import script, write_settings
from tests.engine.stage import Stage, tool_results
from tests.harness.cli import Robota
from tests.harness.programs import needs
from tests.harness.terminal import Terminal
from tests.hooks.hooked import BASH, BYPASS, DONE, Bell, command, finish, on, play_with_hooks
from tests.workspace.process.commanding import Witness, leaving_nothing

pytestmark = needs("setsid")


def run(program: str | tuple[str, ...], cwd: Path, stdin: bytes = b"", timeout_s: float = 60) -> FilterOutcome:
    argv = ("/bin/sh", "-c", program) if isinstance(program, str) else program
    started = ProgramStart(argv=argv, workspace=cwd, cwd=cwd, env=os.environ)
    return asyncio.run(run_filter(started, stdin, timeout_s))


BUSY = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done"
WAYS_OUT = ("sleep 1000 &", "setsid sleep 1000 &", "(setsid sleep 1000 &) &", "exec setsid nohup sleep 1000 &")


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize("end", ["exit 0", "wait; sleep 1000"])
def test_what_a_hook_started_ends_with_it(tmp_path: Path, way: str, end: str) -> None:
    witness = Witness(tmp_path)
    runaway = way.replace("sleep 1000", "sh -c 'exec 9> witness; touch ready; exec sleep 1000'")
    text = f"{runaway} until test -e ready; do :; done; {end}"
    ended = run(text, tmp_path, timeout_s=60 if end == "exit 0" else 0.5)
    assert ended.timed_out is (end != "exit 0")
    witness.wait_until_gone()


def test_a_hook_that_is_ended_gets_the_chance_to_clean_up(tmp_path: Path) -> None:
    text = "trap ': > cleaned; exit' TERM; sleep 1000 & wait"
    assert run(text, tmp_path, timeout_s=1) == FilterOutcome(exit_code=None, stdout="", stderr="", timed_out=True)
    assert (tmp_path / "cleaned").exists()


def test_one_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    text = f"echo first; exec >&- 2>&-; {BUSY}; touch later; exit 3"
    assert run(text, tmp_path) == FilterOutcome(exit_code=3, stdout="first\n", stderr="")
    assert (tmp_path / "later").exists()


def test_one_that_floods_is_read_to_its_end_and_kept_in_part(tmp_path: Path) -> None:
    ended = run("head -c 5000000 /dev/zero | tr '\\0' x; head -c 5000000 /dev/zero >&2; exit 2", tmp_path)
    assert ended.exit_code == 2 and ended.stdout == "x" * OUTPUT_BYTES and len(ended.stderr) == OUTPUT_BYTES


@pytest.mark.parametrize("program", ["exit 7", f"exec <&-; {BUSY}; exit 7", "head -c 10 > /dev/null; exit 7"])
def test_one_that_does_not_read_all_of_its_input_is_no_trouble(
    tmp_path: Path, program: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert run(program, tmp_path, stdin=b"x" * 5_000_000).exit_code == 7
    assert not caplog.records


def test_input_is_followed_by_its_end(tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    (tmp_path / "sent").write_bytes(data)
    assert run("cat > got; cmp sent got", tmp_path, stdin=data).exit_code == 0


def test_a_signal_is_no_exit_code(tmp_path: Path) -> None:
    assert run("kill -9 $$", tmp_path).exit_code is None


def test_cancelling_ends_everything(tmp_path: Path) -> None:
    witness = Witness(tmp_path)

    async def story() -> None:
        bell = Bell(tmp_path / "bell")
        text = "setsid sh -c 'exec 9> witness; echo ready > bell; exec sleep 1000' & wait"
        started = ProgramStart(argv=("/bin/sh", "-c", text), workspace=tmp_path, cwd=tmp_path, env=os.environ)
        running = asyncio.create_task(run_filter(started, b"", 60))
        await bell.rung()
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()

    asyncio.run(story())
    witness.wait_until_gone()


def test_nothing_of_ours_is_left_either(tmp_path: Path) -> None:
    with leaving_nothing():
        run("cat; exit 3", tmp_path, stdin=b"x")
        run("sleep 1000", tmp_path, timeout_s=0.1)
        with pytest.raises(OSError, match="No such file"):
            run(("/no/such/program",), tmp_path)


@pytest.mark.parametrize(("fail_closed", "ran"), [(False, True), (True, False)])
def test_a_time_out_is_told_as_what_it_is(workspace: Path, fail_closed: bool, ran: bool) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "ran").exists() is ran
        witness.wait_until_gone()
        told = tool_results(stage)[0].content if fail_closed else stage.events_of(Notice)[0].text
        assert "it timed out" in told and "user" not in told.replace("PreToolUse", "")

    witness = Witness(workspace)
    text = "setsid sh -c 'exec 9> witness; exec sleep 1000' & wait"
    hooks = on("PreToolUse", command(text, timeout=0.3, failClosed=fail_closed))
    play_with_hooks(workspace, hooks, [BASH, DONE], finish(check), **BYPASS)


def test_a_program_with_arguments_meets_no_shell(workspace: Path) -> None:
    script_file = workspace / "hook.py"
    script_file.write_text("import json, sys; json.dump(sys.argv[1:], open('argv', 'w'))")
    remember(
        "yes", take_snapshot(workspace.resolve()), {"ROBOTA_HOME": str(workspace.parent / "robota-home")}, now_ms=0
    )
    arguments = ["${CLAUDE_PROJECT_DIR}/hook.py", "$HOME; touch oops", "a b"]
    hooks = on("Stop", {"type": "command", "command": sys.executable, "args": arguments})
    play_with_hooks(workspace, hooks, [DONE], finish())
    assert json.loads((workspace / "argv").read_text()) == arguments[1:]
    assert not (workspace / "oops").exists()


def test_an_async_hook_is_not_waited_for_and_ends_with_the_session(workspace: Path) -> None:
    witness = Witness(workspace)

    async def story(stage: Stage) -> None:
        bell = Bell(workspace / "bell")
        await stage.start()
        await stage.until_ask("completion_result")
        assert (workspace / "ran").exists()
        await bell.rung()
        await stage.session.close()
        witness.wait_until_gone()

    slow = command("exec 9> witness; echo started > bell; exec sleep 1000", **{"async": True})
    play_with_hooks(workspace, on("PreToolUse", slow), [BASH, DONE], story, **BYPASS)


def test_a_notification_that_still_goes_out_ends_with_the_session(workspace: Path) -> None:
    witness = Witness(workspace)

    async def story(stage: Stage) -> None:
        bell = Bell(workspace / "bell")
        await stage.start()
        await stage.until_ask("command")
        await bell.rung()
        await stage.session.close()
        witness.wait_until_gone()

    slow = command("exec 9> witness; echo started > bell; exec sleep 1000")
    play_with_hooks(workspace, on("Notification", slow), [BASH], story)


def test_an_async_hook_for_the_end_of_a_session_has_its_time(workspace: Path) -> None:
    last = command("cat > /dev/null; touch told", **{"async": True})
    play_with_hooks(workspace, on("SessionEnd", last), [DONE], finish())
    assert (workspace / "told").exists()


def test_async_hooks_are_bounded_in_number(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        while not how_many_run():  # noqa: ASYNC110 - other processes tell nobody when they start
            await asyncio.sleep(0.05)
        assert how_many_run() <= 20

    def how_many_run() -> int:
        return sum(is_hook(process) for process in Path("/proc").glob("[0-9]*"))

    def is_hook(process: Path) -> bool:
        try:
            return str(workspace).encode() in (process / "cmdline").read_bytes()
        except OSError:
            return False

    many = [command(f"sleep 1000 # {workspace} {number}", **{"async": True}) for number in range(30)]
    play_with_hooks(workspace, on("PreToolUse", *many), [BASH, DONE], story, **BYPASS)


def test_identical_handlers_run_once(workspace: Path) -> None:
    hooks = on("PreToolUse", command("printf x >> count"), command("printf x >> count"))
    hooks["PreToolUse"] *= 2
    play_with_hooks(workspace, hooks, [BASH, DONE], finish(), **BYPASS)
    assert (workspace / "count").read_text() == "x"


PROBE = "cat > /dev/null; (exec < /dev/tty) 2>/dev/null && echo tty >> probe || echo none >> probe"


def test_a_hook_has_no_terminal_even_if_robota_has_one(robota: Robota) -> None:
    path = robota.home / ".robota" / "settings.json"
    script(robota, {"calls": [cli_call("list_files", path=".")]}, {"text": "fine"})
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")
    hooks: dict[str, Any] = {event: [{"hooks": [command(PROBE)]}] for event in events}
    write_settings(robota, {**json.loads(path.read_text()), "hooks": hooks})
    with Terminal(robota, "-p", "go") as terminal:
        assert terminal.end() == 0, terminal.screen
    assert (robota.workspace / "probe").read_text().split() == ["none"] * len(events)
