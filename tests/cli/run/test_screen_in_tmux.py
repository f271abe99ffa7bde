"""The terminal UI in tmux, with a shell around it: whole tasks, and what only a real window does to a program."""

from pathlib import Path

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.programs import needs
from tests.harness.tmux import TmuxWindow

pytestmark = needs("tmux")

COMMAND = call("execute_command", command="touch made-by-command")
EDIT = call("edit_file", path="calc.py", old_string="a - b", new_string="a + b")
QUESTION = call("ask_followup_question", question="Which colour?", follow_up=[{"text": "red"}, {"text": "blue"}])
SLOWLY = {"text": "First words. " + "More words. " * 200, "chunkDelayMs": 50}


def calc(robota: Robota) -> Path:
    path = robota.workspace / "calc.py"
    path.write_text("def add(a, b):\n    return a - b\n")
    return path


def test_a_task_with_a_command_a_diff_and_a_question(robota: Robota) -> None:
    file = calc(robota)
    script(robota, {"calls": [COMMAND]}, {"calls": [EDIT]}, {"calls": [QUESTION]}, {"text": "All done."})
    with TmuxWindow(robota) as window:
        window.sees("Idle")
        window.type("do it")
        window.press("Enter")
        window.sees("touch made-by-command")
        window.sees("y yes")
        window.press("y")
        window.sees("a + b")
        window.sees("y yes")
        assert (robota.workspace / "made-by-command").exists()
        window.press("y")
        window.sees("Which colour?")
        assert file.read_text().endswith("a + b\n")
        window.type("1")
        window.press("Enter")
        window.sees("All done.")
        window.sees("Idle")
        window.press("C-d")
        window.sees("robota --resume")


def test_words_that_are_sent_meanwhile_wait_for_their_turn(robota: Robota) -> None:
    script(robota, SLOWLY, {"text": "Heard of it."})
    with TmuxWindow(robota) as window:
        window.sees("Idle")
        window.type("say it")
        window.press("Enter")
        window.sees("First words.")
        window.type("one more thing")
        window.press("Enter")
        window.sees("Heard of it.")
        assert "> one more thing" in window.everything()


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
        window.sees("Esc again goes back")
        window.press("Escape")
        window.sees("Go back to before which prompt?")
        window.press("Enter")
        window.sees("y yes")
        window.press("y")
        window.sees("restored  calc.py")
    assert file.read_text().endswith("a - b\n")
