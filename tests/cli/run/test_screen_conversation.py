"""A user at the terminal UI: the real program in a real terminal that is emulated row by row."""

from pathlib import Path

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.screen import ScreenTerminal

EDIT = call("edit_file", path="calc.py", old_string="a - b", new_string="a + b")
COUNT = call("execute_command", command="for i in 1 2 3; do echo line $i; done; touch made")
FOREVER = call("execute_command", command="echo begun; touch made; sleep 1000")


def calc(robota: Robota) -> Path:
    path = robota.workspace / "calc.py"
    path.write_text("def add(a, b):\n    return a - b\n")
    return path


def test_a_whole_task_with_approvals(robota: Robota) -> None:
    file = calc(robota)
    script(robota, {"text": "I **fix** it.", "calls": [EDIT]}, {"calls": [COUNT]}, {"text": "Both are done."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle | Mode: default")
        terminal.press("fix it\r")
        rows = terminal.sees("y yes")
        assert "> fix it" in rows
        assert any("- " in row and "return a - b" in row for row in rows)
        assert any("+ " in row and "return a + b" in row for row in rows)
        terminal.press("y")
        terminal.sees("Run this command?")
        terminal.sees("■ Edit calc.py")
        assert file.read_text().endswith("return a + b\n")
        terminal.sees("y yes")
        terminal.press("y")
        rows = terminal.sees("Idle")
        assert "Both are done." in rows
        assert "    line 3" in rows
        terminal.press("\x04")
        assert terminal.end() == 0
    assert "To resume this session: robota --resume " in terminal.screen
    assert (robota.workspace / "made").exists()


def test_what_is_typed_ahead_answers_nothing(robota: Robota) -> None:
    file = calc(robota)
    script(robota, {"calls": [EDIT]}, {"text": "Left as it was."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("fix it\ryyyy")
        terminal.sees("Press Tab to answer")
        assert file.read_text().endswith("return a - b\n")
        terminal.press("\t")
        terminal.sees("n no")
        terminal.press("n")
        assert "> yyyy" in terminal.sees("Left as it was.")
    assert file.read_text().endswith("return a - b\n")


def test_a_paste_answers_nothing(robota: Robota) -> None:
    file = calc(robota)
    script(robota, {"calls": [EDIT]}, {"text": "Done."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("fix it\r")
        terminal.sees("y yes")
        terminal.press("\x1b[200~y\x1b[201~")
        terminal.sees("> y")
        terminal.sees("Press Tab to answer")
    assert file.read_text().endswith("return a - b\n")


def test_enter_alone_approves_nothing_but_a_chosen_row_does(robota: Robota) -> None:
    file = calc(robota)
    script(robota, {"calls": [EDIT]}, {"text": "Done."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("fix it\r")
        terminal.sees("y yes")
        terminal.press("\r\r")
        terminal.press("\x1b[B")
        terminal.sees("❯ 1 y yes")
        assert file.read_text().endswith("return a - b\n")
        terminal.press("\r")
        terminal.sees("Done.")
    assert file.read_text().endswith("return a + b\n")


def test_escape_stops_the_running_command_and_words_take_it_up_again(robota: Robota) -> None:
    script(robota, {"calls": [FOREVER]}, {"text": "Gone on."})
    with ScreenTerminal(robota, "--permission-mode", "bypassPermissions") as terminal:
        terminal.sees("Idle")
        terminal.press("run it\r")
        terminal.sees("    begun")
        terminal.press("\x1b")
        rows = terminal.sees("Interrupted.")
        assert any(row.startswith("■ Bash") for row in rows)
        terminal.press("go on\r")
        terminal.sees("Gone on.")


def test_words_typed_while_it_works_wait_and_can_be_taken_back(robota: Robota) -> None:
    script(robota, {"calls": [FOREVER]}, {"text": "Gone on."})
    with ScreenTerminal(robota, "--permission-mode", "bypassPermissions") as terminal:
        terminal.sees("Idle")
        terminal.press("run it\r")
        terminal.sees("    begun")
        terminal.press("and this too\r")
        terminal.sees("queued: and this too")
        terminal.press("\x1b[A")
        terminal.sees("> and this too")
        terminal.sees_no_more("queued:")
        terminal.press("\r")
        terminal.sees("queued: and this too")
        terminal.press("\x13")
        terminal.sees("with the next request: and this too")
        terminal.press("\x7f")
        terminal.sees("Removed from the queue.")
        terminal.press("one more\r")
        terminal.sees("queued: one more")
        terminal.press("\x1b")
        terminal.sees("Interrupted.")
        terminal.sees("> one more")


def test_every_queued_entry_can_be_changed_and_taken_out(robota: Robota) -> None:
    script(robota, {"calls": [FOREVER]}, {"text": "Gone on."})
    with ScreenTerminal(robota, "--permission-mode", "bypassPermissions") as terminal:
        terminal.sees("Idle")
        terminal.press("run it\r")
        terminal.sees("    begun")
        for words in ("one", "two", "!three"):
            terminal.press(f"{words}\r")
            terminal.sees(f"queued: {words}")
        terminal.press("\x1b[A")
        terminal.sees("❯ !three")
        terminal.press("\x1b[A\x7f")
        terminal.sees_no_more("two")
        terminal.sees("Queued messages")
        terminal.sees_no_more("queued:")  # they are there once
        terminal.press("\x7f")
        terminal.sees_no_more("!three")
        terminal.press("\r")
        terminal.sees_no_more("Queued messages")
        terminal.sees("> one")
        terminal.press(" more\r")
        terminal.sees("queued: one more")


def test_a_command_of_ones_own_has_a_sign_of_its_own(robota: Robota) -> None:
    script(robota, {"text": "Never said."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("!ls")
        terminal.sees("! !ls")
        terminal.press("\x01\x04")
        terminal.sees("> ls")


def test_ctrl_c_clears_then_asks_then_leaves(robota: Robota) -> None:
    script(robota, {"text": "Never said."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("something")
        terminal.sees("> something")
        terminal.press("\x03")
        terminal.sees_no_more("> something")
        terminal.press("\x03")
        terminal.sees("Press Ctrl+C again to exit.")
        terminal.press("\x03")
        assert terminal.end() == 0


def test_what_was_said_stays_when_one_leaves_in_the_middle(robota: Robota) -> None:
    script(robota, {"text": "First words. " + "More words. " * 200, "chunkDelayMs": 50})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("say it\r")
        terminal.sees("First words.")
        terminal.press("\x04")
        assert terminal.end() == 0
        assert any(row.startswith("First words.") for row in terminal.scrolled)


def test_the_editor_changes_the_command_before_it_runs(robota: Robota) -> None:
    script(robota, {"calls": [call("execute_command", command="touch wrong")]}, {"text": "Done."})
    editor = robota.home / "editor.sh"
    editor.write_text("#!/bin/sh\nprintf 'touch right' > \"$1\"\n")
    editor.chmod(0o755)
    with ScreenTerminal(robota, env={"EDITOR": str(editor)}) as terminal:
        terminal.sees("Idle")
        terminal.press("make it\r")
        terminal.sees("e edit it first")
        terminal.press("e")
        terminal.sees("e touch wrong")
        terminal.press("\x07")
        terminal.sees("e touch right")
        terminal.press("\r")
        rows = terminal.sees("Done.")
    calls = [row for row in rows if row.startswith("■ Bash")]
    assert len(calls) == 1 and calls[0].startswith("■ Bash touch right")  # its duration may follow
    assert (robota.workspace / "right").exists() and not (robota.workspace / "wrong").exists()


def test_a_big_paste_is_a_label_that_is_sent_whole(robota: Robota) -> None:
    script(robota, {"text": "Read.", "expect": {"user": "line 4999"}})
    pasted = "\n".join(f"line {number}" for number in range(5000))
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("look: ")
        terminal.press("\x1b[200~a\nb\n\x1b[201~")
        terminal.sees("> look: [Pasted text #1 +2 lines]")
        terminal.press("\x7f")
        terminal.sees_no_more("Pasted")
        terminal.press(f"\x1b[200~{pasted}\x1b[201~")
        terminal.sees("> look: [Pasted text #2 +5000 lines]")
        terminal.press("\r")
        terminal.sees("Read.")
        assert "> look: [Pasted text #2 +5000 lines]" in terminal.scrolled
        assert not any("line 4" in row for row in terminal.scrolled)
        terminal.press("\x0f")
        terminal.sees("of 50")


def test_wide_characters_and_several_lines_stand_where_the_cursor_is(robota: Robota) -> None:
    script(robota, {"text": "答えは **四** です。"})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("漢字とかな")
        terminal.sees("> 漢")
        terminal.wait_until(lambda: terminal.cursor[0] == 2 + 5 * 2)
        terminal.press("\x0ae\u0301\U0001f44d\U0001f3fd.\x1b[D\x1b[D\x1b[D\x1b[3~\x1b[C\x7fsecond")
        terminal.sees("  second.")
        terminal.press("\r")
        terminal.sees("答")


def test_a_command_is_completed_and_a_choice_is_picked(robota: Robota) -> None:
    script(robota, {"text": "Never said."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("/permi")
        terminal.sees("❯ /permissions")
        terminal.press("\t")
        terminal.sees("acceptEdits")
        terminal.press("\r")
        terminal.sees("Enter select")
        terminal.press("accept")
        terminal.sees("accept ─╮")
        terminal.press("\r")
        terminal.sees("Mode: acceptEdits")


def test_a_file_is_mentioned(robota: Robota) -> None:
    calc(robota)
    script(robota, {"text": "Seen."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("look at @cal")
        terminal.sees("❯ calc.py")
        terminal.press("\t")
        terminal.sees("> look at @calc.py")
        terminal.press(":1-2 now:")
        terminal.sees("> look at @calc.py:1-2 now:")


def test_a_closed_window_ends_it_and_the_session_can_be_resumed(robota: Robota) -> None:
    script(robota, {"text": "Said before."}, {"text": "Said after."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("say it\r")
        terminal.sees("Said before.")
        assert terminal.vanish() != 0
    with ScreenTerminal(robota, "--continue") as terminal:
        rows = terminal.sees("Idle")
        assert "Said before." in rows
        terminal.press("\x1b[A")
        terminal.sees("> say it")


def test_a_narrow_low_window_still_shows_the_input(robota: Robota) -> None:
    script(robota, {"text": "A word."})
    with ScreenTerminal(robota, columns=20, rows=5) as terminal:
        terminal.sees("Idle | Mode: default")
        assert terminal.scrolled[:2] == ["Robota 0.1.0", "scripted  default m…"]
        terminal.press("hi\r")
        # What the answer cost fills such a window.
        terminal.wait_until(lambda: any("A word." in row for row in terminal.scrolled))
        terminal.press("typed")
        terminal.sees("> typed")


def test_without_a_capable_terminal_or_with_plain_it_talks_in_lines(robota: Robota) -> None:
    script(robota, {"text": "Plain."})
    for arguments, env in ((("--plain",), {}), ((), {"TERM": "dumb"})):
        with ScreenTerminal(robota, *arguments, env=env) as terminal:
            terminal.sees("or type /help")
            assert "Mode: default" not in "\n".join(terminal.rows)


def test_a_command_stands_above_what_it_shows_and_words_are_kept_whole(robota: Robota) -> None:
    script(robota, {"text": "Never said."})
    with ScreenTerminal(robota, columns=60) as terminal:
        terminal.sees("Idle")
        terminal.press("/memory\r")
        rows = terminal.sees("memory add.")
        place = rows.index("> /memory")
        assert rows[place + 1 : place + 3] == [
            "    Memory is empty. To add something: # TEXT in a",
            "    conversation, or memory add.",
        ]
        terminal.press("/nothing\r")
        rows = terminal.sees("There is no command /nothing")
        assert "> /nothing" in rows


def test_background_work_has_a_panel_until_it_was_seen_or_put_away(robota: Robota) -> None:
    start = {"action": "start"}
    good = call("background_process", **start, command="while [ ! -e go ]; do sleep 0.05; done; echo all done")
    bad = call("background_process", **start, command="while [ ! -e go ]; do sleep 0.05; done; exit 3")
    script(robota, {"calls": [good, bad]}, {"text": "Started."}, {"text": "Later."})
    with ScreenTerminal(robota, "--permission-mode", "bypassPermissions") as terminal:
        terminal.sees("Idle")
        terminal.press("run them\r")
        terminal.sees("Started.")
        terminal.sees("Background x2 |")
        rows = terminal.rows
        assert "Background work" in rows and sum(row.startswith("  □ while") for row in rows) == 2
        (robota.workspace / "go").touch()
        terminal.sees("exit code 3")
        terminal.sees("  ■ while [ ! -e go ]; do sleep 0.05; done; echo all done  unread  all done")
        terminal.sees("Idle |")
        terminal.press("and now\r")
        terminal.sees("Later.")
        terminal.sees_no_more("  all done")
        assert any("exit code 3" in row for row in terminal.rows)
        terminal.press("/background close all\r")
        terminal.sees_no_more("Background work")
