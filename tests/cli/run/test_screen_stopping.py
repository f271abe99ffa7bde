"""Stopping at the terminal UI: in every state, by keys, by the shell's job control and by the terminal going away."""

import signal
from pathlib import Path

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import EXECUTABLE, Robota
from tests.harness.screen import ScreenTerminal

FOREVER = call("execute_command", command="touch begun; sleep 1000")
EDIT = call("edit_file", path="calc.py", old_string="a - b", new_string="a + b")
SLOWLY = {"text": "First words. " + "More words. " * 200, "chunkDelayMs": 50}


def calc(robota: Robota) -> Path:
    path = robota.workspace / "calc.py"
    path.write_text("def add(a, b):\n    return a - b\n")
    return path


def test_escape_while_an_answer_streams_keeps_what_was_said(robota: Robota) -> None:
    script(robota, SLOWLY, {"text": "Gone on."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("say it\r")
        terminal.sees("First words.")
        terminal.press("\x1b")
        rows = terminal.sees("Interrupted.")
        assert any(row.startswith("First words.") for row in rows)
        terminal.press("go on\r")
        terminal.sees("Gone on.")


def test_escape_at_a_question_stops_the_turn_and_nothing_is_done(robota: Robota) -> None:
    file = calc(robota)
    script(robota, {"calls": [EDIT]}, {"text": "Gone on."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("fix it\r")
        terminal.sees("y yes")
        terminal.press("\x1b")
        terminal.sees("Interrupted.")
        terminal.sees_no_more("y yes")
        assert file.read_text().endswith("a - b\n")


def test_escape_while_it_waits_to_try_again(robota: Robota) -> None:
    failing = {"text": "Half.", "fault": {"kind": "overloaded", "after": 0}}
    script(robota, failing, {"text": "Never said."}, retry={"baseMs": 100_000, "maxRetries": 2})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("say it\r")
        terminal.sees("Waiting to retry")
        terminal.press("\x1b")
        terminal.sees("Interrupted.")


def test_suspended_and_brought_back_by_the_shell(robota: Robota) -> None:
    script(robota, {"text": "Said."})
    with ScreenTerminal(robota, "--norc", "-i", program="bash", env={"PS1": "shell: "}) as terminal:
        terminal.sees("shell:")
        terminal.press(f"{EXECUTABLE}\r")
        terminal.sees("Idle")
        terminal.press("half a\x1a")
        terminal.sees("Stopped")
        terminal.press("fg\r")
        terminal.sees("> half a")
        terminal.press(" word\r")
        terminal.sees("> half a word")
        terminal.sees("Said.")


def test_a_hang_up_while_a_command_runs_ends_it_and_the_session_can_be_resumed(robota: Robota) -> None:
    script(robota, {"calls": [FOREVER]}, {"text": "Gone on."})
    with ScreenTerminal(robota, "--permission-mode", "bypassPermissions") as terminal:
        terminal.sees("Idle")
        terminal.press("run it\r")
        terminal.wait_until((robota.workspace / "begun").exists)
        terminal.send(signal.SIGHUP)
        assert terminal.end() == 128 + signal.SIGHUP
    script(robota, {"text": "Gone on."})
    with ScreenTerminal(robota, "--continue") as terminal:
        terminal.sees("Interrupted.")
        terminal.press("\r")
        terminal.sees("Gone on.")


def test_escape_twice_offers_the_way_back_and_a_choice_restores_the_file(robota: Robota) -> None:
    file = calc(robota)
    script(robota, {"calls": [EDIT]}, {"text": "Fixed."})
    with ScreenTerminal(robota, "--permission-mode", "acceptEdits") as terminal:
        terminal.sees("Idle")
        terminal.press("fix it\r")
        terminal.sees("Fixed.")
        terminal.sees("Idle")
        terminal.press("\x1b")
        terminal.sees("Press Esc again to rewind")
        terminal.press("\x1b")
        terminal.sees("Rewind to before which prompt?")
        terminal.press("\r")
        terminal.sees("y yes")
        terminal.press("y")
        terminal.wait_until(lambda: file.read_text().endswith("a - b\n"))
        terminal.sees("> fix it")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_at_a_question_it_is_asked_again_by_the_next_process(robota: Robota, number: signal.Signals) -> None:
    file = calc(robota)
    script(robota, {"calls": [EDIT]}, {"text": "Fixed."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("fix it\r")
        terminal.sees("y yes")
        terminal.send(number)
        assert terminal.end() != 0
    assert file.read_text().endswith("a - b\n")
    with ScreenTerminal(robota, "--continue") as terminal:
        terminal.sees("Interrupted.")
        terminal.press("\r")
        terminal.sees("y yes")
        terminal.press("y")
        terminal.sees("Fixed.")
    assert file.read_text().endswith("a + b\n")
