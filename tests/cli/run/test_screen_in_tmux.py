"""The terminal UI in tmux, with a shell around it: whole tasks, and what only a real window does to a program."""

import json
from pathlib import Path

from tests.cli.scripts import call, script
from tests.extensions.mcp.setup import WRITE_NOTE, PlainServer
from tests.harness.cli import Robota
from tests.harness.programs import needs
from tests.harness.tmux import TmuxWindow

pytestmark = needs("tmux")

COMMAND = call("execute_command", command="touch made-by-command")
EDIT = call("edit_file", path="calc.py", old_string="a - b", new_string="a + b")
QUESTION = call("ask_followup_question", question="Which colour?", follow_up=[{"text": "red"}, {"text": "blue"}])
MODE = call("switch_mode", mode_slug="architect", reason="to plan first")
FLOOD = call("execute_command", command="yes 'so many words' | head -n 100; sleep 1000")
FULL = {"input": 9100, "output": 400}
SLOWLY = {"text": "First words. " + "More words. " * 200, "chunkDelayMs": 50}


def calc(robota: Robota) -> Path:
    path = robota.workspace / "calc.py"
    path.write_text("def add(a, b):\n    return a - b\n")
    return path


def test_a_task_with_every_kind_of_approval_and_a_question(robota: Robota, tmp_path: Path) -> None:
    file, server = calc(robota), PlainServer(tmp_path)
    calls = ({"calls": [each]} for each in (COMMAND, EDIT, MODE, QUESTION))
    script(robota, WRITE_NOTE, *calls, {"text": "All done."})
    settings = robota.home / ".robota" / "settings.json"
    servers = {"mcpServers": {"plain": server.entry()}}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **servers}))
    with TmuxWindow(robota) as window:
        window.sees("Idle")
        window.type("do it")
        window.press("Enter")
        window.sees("╭─ MCP plain: note hello? ─")
        window.sees("y yes")
        assert not server.was_called
        window.press("y")
        window.sees("touch made-by-command")
        assert server.was_called
        window.sees("y yes")
        window.press("y")
        window.sees("a + b")
        window.sees("y yes")
        assert (robota.workspace / "made-by-command").exists()
        window.press("y")
        window.sees("to plan first")
        window.sees("y yes")
        window.press("y")
        window.sees("(architect)")
        window.sees("Which colour?")
        assert file.read_text().endswith("a + b\n")
        window.type("1")
        window.press("Enter")
        window.sees("All done.")
        window.sees("Idle")
        window.press("C-d")
        window.sees("robota --resume")


def test_escape_stops_it_whatever_it_does(robota: Robota) -> None:
    script(
        robota,
        {"text": "Never said.", "delayMs": 1_000_000},
        SLOWLY,
        {"calls": [FLOOD]},
        {"calls": [COMMAND]},
        {"calls": [QUESTION]},
        {"fault": {"kind": "overloaded"}},
        {"text": "word " * 300, "usage": FULL},
        {"text": "Never a summary.", "delayMs": 1_000_000},
        {"text": "It is still there."},
        retry={"baseMs": 1_000_000, "maxRetries": 2},
        modelInfo={"contextWindow": 10_000, "maxOutputTokens": 500},
    )
    with TmuxWindow(robota) as window:
        window.sees("Idle")
        for shown in ("Thinking", "First words.", "y yes", "y yes", "Which colour?", "overloaded", "condensing"):
            if shown == "condensing":
                window.type("fill it")
                window.press("Enter")
                window.sees("tokens in")
            window.type("go")
            window.press("Enter")
            window.sees(shown)
            if shown == "y yes" and "yes 'so many" in window.screen():
                window.press("y")
                window.sees("    so many words")
            window.press("Escape")
            window.sees("Interrupted.")
            window.press("C-l")
            window.sees_no_more("Interrupted.")
        window.type("and now?")
        window.press("Enter")
        window.sees("It is still there.")
    assert not (robota.workspace / "made-by-command").exists()


def test_steering_joins_the_running_turn_and_queued_words_wait_for_its_end(robota: Robota) -> None:
    wait = call("execute_command", command="until test -e go-on; do sleep 0.01; done")
    steered = {"text": "Heard at once.", "expect": {"user": "sooner"}}
    script(robota, {"calls": [wait]}, steered, {"text": "Heard of it.", "expect": {"user": "later"}})
    with TmuxWindow(robota) as window:
        window.sees("Idle")
        window.type("wait")
        window.press("Enter")
        window.sees("y yes")
        window.press("y")
        window.sees("□ Bash")
        window.type("later")
        window.press("Enter")
        window.sees("queued: later")
        window.type("sooner")
        window.press("C-s")
        window.sees("with the next request: sooner")
        (robota.workspace / "go-on").touch()
        window.sees("Heard of it.")
        everything = window.everything()
        assert everything.index("> sooner") < everything.index("Heard at once.") < everything.index("> later")


def test_a_window_that_changes_its_size_in_the_middle_of_an_answer(robota: Robota) -> None:
    script(robota, {**SLOWLY, "chunkDelayMs": 10})
    with TmuxWindow(robota, columns=120, rows=40) as window:
        window.sees("Idle")
        window.type("say it")
        window.press("Enter")
        window.sees("First words.")
        for columns, rows in ((40, 10), (200, 50), (20, 5), (80, 24)):
            window.resize(columns, rows)
        window.sees("Idle")
        assert "More words. More words." in window.everything()
        window.type("/status")
        window.sees("> /status")


def test_suspended_by_a_key_and_brought_back(robota: Robota) -> None:
    script(robota, {"text": "Said."})
    with TmuxWindow(robota) as window:
        window.sees("Idle")
        window.type("half a")
        window.sees("> half a")
        window.press("C-z")
        window.sees("Stopped")
        window.type("clear; fg")
        window.press("Enter")
        window.sees_no_more("Stopped")
        window.sees("> half a")
        window.type(" word")
        window.press("Enter")
        window.sees("Said.")


def test_a_window_that_is_closed_at_a_question_leaves_it_to_be_answered(robota: Robota) -> None:
    file = calc(robota)
    script(robota, {"calls": [EDIT]}, {"text": "Fixed."})
    with TmuxWindow(robota) as window:
        window.sees("Idle")
        window.type("fix it")
        window.press("Enter")
        window.sees("y yes")
        window.close()
    with TmuxWindow(robota, "-c") as window:
        window.sees("Interrupted.")
        window.press("Enter")
        window.sees("y yes")
        window.press("y")
        window.sees("Fixed.")
    assert file.read_text().endswith("a + b\n")


def test_a_long_paste_wide_characters_and_a_very_long_line(robota: Robota) -> None:
    script(robota, {"text": "日本語の答え。"}, {"text": "x" * 3000})
    with TmuxWindow(robota) as window:
        window.sees("Idle")
        window.paste("".join(f"line {number}\n" for number in range(5000)))
        window.sees("[Pasted text #1 +")
        window.type(" 質問です")
        window.sees("質問です")
        window.press("Enter")
        window.sees("日本語の答え。")
        window.sees("Idle")
        window.type("and now a long line")
        window.press("Enter")
        window.sees("x" * 80)
        window.sees("Idle")
        assert "x" * 3000 in window.everything().replace("\n", "")


def test_what_was_done_is_taken_back_with_two_keys(robota: Robota) -> None:
    file = calc(robota)
    script(robota, {"calls": [EDIT]}, {"text": "Fixed."})
    with TmuxWindow(robota, "--permission-mode", "acceptEdits") as window:
        window.sees("Idle")
        window.type("fix it")
        window.press("Enter")
        window.sees("Fixed.")
        window.sees("Idle")
        window.press("Escape")
        window.sees("Press Esc again to rewind")
        window.press("Escape")
        window.sees("Rewind to before which prompt?")
        window.press("Enter")
        window.sees("y yes")
        window.press("y")
        window.sees("restored  calc.py")
    assert file.read_text().endswith("a - b\n")
