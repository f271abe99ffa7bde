"""What a terminal does to a conversation: pastes, half typed lines, Ctrl+C, a closed window, odd characters."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.cli.scripts import call, script, sessions
from tests.harness.cli import Robota
from tests.harness.screen import ScreenTerminal
from tests.harness.session_log import log_records
from tests.harness.terminal import Terminal

FIRST, SECOND, DONE = {"text": "First."}, {"text": "Second."}, {"text": "All done."}
WAIT = "until test -e go; do sleep 0.05; done"


def user_texts(robota: Robota) -> list[str]:
    """What the user said, as it stands in the log."""
    records = log_records(sessions(robota)[0])
    return [record["payload"]["text"] for record in records if record["kind"] == "answer"]


def test_a_paste_of_three_thousand_lines_is_one_message(robota: Robota) -> None:
    script(robota, FIRST, SECOND)
    paste = "".join(f"line {number} of a long paste\r\n" for number in range(3000))
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("First.")
        terminal.wait_for("> ")
        terminal.press("\x1b[200~")
        for start in range(0, len(paste), 2000):
            terminal.press(paste[start : start + 2000])
        terminal.press("\x1b[201~\r")
        terminal.wait_for("Second.")
    assert user_texts(robota) == [paste.replace("\r", "")]


def test_a_line_longer_than_a_terminal_edits_is_sent_whole(robota: Robota) -> None:
    script(robota, FIRST, SECOND)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("First.")
        terminal.answer("> ", "x" * 5000)
        terminal.wait_for("Second.")
    assert user_texts(robota) == ["x" * 5000]


def test_a_half_typed_line_is_shown_when_a_question_interrupts_it(robota: Robota) -> None:
    script(robota, {"calls": [call("execute_command", command=WAIT)]}, {"calls": [call("write_to_file", **NEW)]}, DONE)
    with Terminal(robota, "--allowed-tools", "Bash", "go") as terminal:
        terminal.wait_for("Bash until")
        terminal.press("also look at")
        terminal.wait_for("also look at")
        (robota.workspace / "go").touch()
        terminal.wait_for("(ignored, because it was typed before the question: also look at)")
        terminal.answer("> ", "y")
        terminal.wait_for("All done.")
    assert (robota.workspace / "new.txt").exists()


NEW = {"path": "new.txt", "content": "hello\n"}


def test_ctrl_c_where_nothing_runs_stops_nothing_and_shows_the_sign_again(robota: Robota) -> None:
    script(robota, FIRST, SECOND)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("First.")
        terminal.wait_for("> ")
        terminal.press("half\x03")
        terminal.wait_for("(press Ctrl+C again or Ctrl+D to exit)")
        terminal.answer("> ", "go on")
        terminal.wait_for("Second.")
        terminal.wait_for("> ")
        assert "Interrupted" not in terminal.screen
    assert user_texts(robota) == ["go on"]


def test_after_a_stop_and_fg_the_sign_is_shown_again(robota: Robota) -> None:
    script(robota, FIRST)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("First.")
        terminal.wait_for("> ")
        terminal.send(signal.SIGCONT)
        terminal.wait_for("> ")
        terminal.press("\x04")
        assert terminal.end() == 0


def test_ctrl_d_leaves_while_something_runs_too(robota: Robota) -> None:
    script(robota, {"calls": [call("execute_command", command="sleep 1000")]}, DONE)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("Bash sleep 1000")
        terminal.press("\x04")
        assert terminal.end() == 0


@pytest.mark.parametrize("ignores_hangups", [False, True])
def test_a_closed_window_ends_commands_and_keeps_the_session(robota: Robota, ignores_hangups: bool) -> None:
    """Also if the process that runs the tests ignores SIGHUP, as under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN) if ignores_hangups else signal.getsignal(signal.SIGHUP)
    pipe = robota.workspace / "pipe"
    os.mkfifo(pipe)
    script(robota, {"calls": [call("execute_command", command="cat pipe")]}, DONE)
    with Terminal(robota, "--allowed-tools", "Bash", "go") as terminal:
        signal.signal(signal.SIGHUP, before)
        writing = os.open(pipe, os.O_WRONLY)  # as soon as the command reads
        assert terminal.vanish() == 129
    os.close(writing)
    with pytest.raises(OSError, match="No such device"):  # nobody reads any more
        os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    verified = robota("sessions", "verify", sessions(robota)[0].name)
    assert verified.code == 0 and "chain    ok" in verified.stdout
    assert {".claude", ".mcp.json"}.isdisjoint(path.name for path in robota.workspace.iterdir())


@pytest.mark.parametrize("words", [(), ("go",)], ids=["before a prompt", "after an answer"])
def test_a_window_closed_while_nothing_runs_is_told_by_the_exit_code(robota: Robota, words: tuple[str, ...]) -> None:
    script(robota, DONE)
    with Terminal(robota, "--plain", *words) as terminal:
        terminal.wait_for("> ")
        assert terminal.vanish() == 129
    with ScreenTerminal(robota, *words) as screen:
        screen.sees("done." if words else "default")
        assert screen.vanish() == 129


def test_the_path_is_shown_whatever_argument_comes_first_and_nothing_in_it_is_hidden(robota: Robota) -> None:
    """Control sequences in a name or a diff are shown as visible text."""
    evil = {"content": "safe\x1b]0;evil\x07\nrtl\u202e\n", "path": "a\x1b[31mb.txt"}
    script(robota, {"calls": [call("write_to_file", **evil)]}, DONE)
    with Terminal(robota, "go") as terminal:
        asked = terminal.wait_for("> ")
        assert "● Write a[31mb.txt" in asked and "(new file)" in asked
        assert "+safe‹U+001B›]0;evil‹U+0007›" in asked and "+rtl‹U+202E›" in asked


@pytest.mark.parametrize(
    ("editor", "problem"),
    [("no-such-editor", "'no-such-editor' of $EDITOR was not started"), ("false", "failed (exit code 1)")],
)
def test_without_an_editor_it_says_what_to_do_instead(robota: Robota, editor: str, problem: str) -> None:
    script(robota, {"calls": [call("execute_command", command="touch bad")]}, DONE)
    with Terminal(robota, "go", env={"EDITOR": editor}) as terminal:
        terminal.wait_for("touch bad")
        terminal.answer("> ", "e")
        terminal.wait_for(problem)
        terminal.wait_for("type n and what should change")
        terminal.answer("> ", "n call it good")
        terminal.wait_for("All done.")
    assert not (robota.workspace / "bad").exists()


def test_ctrl_c_in_the_editor_is_the_editors(robota: Robota, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\ntrap "echo good > $1; exit 0" INT\necho editing\nwhile :; do sleep 0.05; done\n')
    editor.chmod(0o755)
    script(robota, {"calls": [call("write_to_file", **NEW)]}, DONE)
    with Terminal(robota, "go", env={"EDITOR": str(editor)}) as terminal:
        terminal.wait_for("new.txt (new file)")
        terminal.answer("> ", "e")
        terminal.wait_for("editing")
        terminal.press("\x03")
        terminal.wait_for("All done.")
        assert "Interrupted" not in terminal.screen
    assert (robota.workspace / "new.txt").read_text() == "good\n"


def test_a_terminal_without_unicode_gets_an_answer_too(robota: Robota) -> None:
    script(robota, {"text": "Fertig 🎉 漢字."})
    with Terminal(robota, "go", env={"PYTHONIOENCODING": "ascii"}) as terminal:
        terminal.wait_for("Fertig \\U0001f389 \\u6f22\\u5b57.")
        assert terminal.hang_up() == 0


def test_questions_keep_within_a_narrow_terminal(robota: Robota) -> None:
    wide = "漢字かな 交じり文の 長い説明 " * 4
    script(robota, {"calls": [call("ask_followup_question", question=wide, follow_up=[{"text": "yes"}])]}, DONE)
    with Terminal(robota, "go", env={"COLUMNS": "40"}) as terminal:
        asked = terminal.wait_for("1 yes")
        assert all(len(line) + sum(letter > "\u2e80" for letter in line) < 40 for line in asked.splitlines())


def test_orders_say_what_they_did_or_why_not(robota: Robota) -> None:
    script(robota, FIRST)
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/compact")
        terminal.wait_for("There is no task yet. Enter a prompt first.")
        terminal.answer("> ", "/permission plan")
        terminal.wait_for("permission mode: plan")
        terminal.answer("> ", "/tmp is full\nwhat now?")
        terminal.wait_for("First.")


def test_a_closed_window_is_told_by_the_exit_code_however_slowly_the_session_closes(robota: Robota) -> None:
    """Nothing is written to the closed terminal while the session still has something to finish."""
    pipe = robota.workspace / "pipe"
    os.mkfifo(pipe)
    script(robota, {"calls": [call("execute_command", command="cat pipe")]}, DONE)
    settings = robota.home / ".robota" / "settings.json"
    slow = {"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "sleep 4", "timeout": 60}]}]}}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **slow}))
    with Terminal(robota, "--allowed-tools", "Bash", "go") as terminal:
        writing = os.open(pipe, os.O_WRONLY)
        assert terminal.vanish() == 129
    os.close(writing)
