"""The terminal UI under what a model and programs can throw at it."""

import re

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.screen import ScreenTerminal

HOSTILE = "\x1b[2J\x1b]0;taken\x07\x1b[31m\u202eevil\x9b7m"
TABLE = f"| 名前 | b |\n|---|---|\n| 日本語のテキスト | {HOSTILE} |\n"
PRINTS = "printf '\\033[2J\\033]0;taken\\007evil\\n'; head -c 3000 /dev/zero | tr '\\0' x; echo; echo after"
FLOOD = "yes 'so many words' | head -c 5000000; echo the end of it"
SENTENCES = [f"Sentence {number} stands in a paragraph of its own." for number in range(120)]


def test_hostile_text_long_lines_and_a_flood_stay_within_their_rows(robota: Robota) -> None:
    script(
        robota,
        {"text": TABLE, "calls": [call("execute_command", command=PRINTS)]},
        {"calls": [call("read_file", path=f"a{HOSTILE}b")]},
        {"calls": [call("execute_command", command=FLOOD)]},
        {"text": "All done."},
    )
    with ScreenTerminal(robota, "--permission-mode", "bypassPermissions", "--name", "n\x1b[31m") as terminal:
        terminal.sees("Idle")
        terminal.press("go\r")
        terminal.sees("All done.")
        terminal.sees("Idle")
        shown = terminal.scrolled
        raw = terminal.screen
    text = "\n".join(shown)
    assert "]0;taken" in text and "\x1b]0;taken" not in raw and "\x9b" not in raw
    assert "日本語のテキスト" in text and "the end of it" in text
    long = [row for row in shown if "xxxxx" in row]
    assert len(long) == 1 and long[0].endswith("…")
    assert sum(row.startswith("Idle") for row in shown) == 1


def test_a_window_that_changes_while_an_answer_streams_loses_and_doubles_nothing(robota: Robota) -> None:
    script(robota, {"text": "\n\n".join(SENTENCES), "chunkSize": 40, "chunkDelayMs": 2})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("go\r")
        terminal.wait_for("Sentence 20 ")
        terminal.resize(60, 18)
        terminal.wait_for("Sentence 50 ")
        terminal.resize(110, 40)
        terminal.wait_for("Sentence 119 ")
        terminal.sees("Idle")
        shown = terminal.scrolled
    text = "\n".join(shown)
    # What scrolls out in the very moment of a change is the terminal's; from there on each is there once.
    assert [sentence for sentence in SENTENCES[60:] if text.count(sentence) != 1] == []
    assert sum(row.startswith("Idle") for row in shown[-40:]) == 1


def test_in_a_window_that_becomes_narrower_only_the_region_itself_is_drawn_over(robota: Robota) -> None:
    """A terminal that breaks rows anew makes three of an edge of 120 columns, and one of a short row."""
    script(robota, {"calls": [call("execute_command", command="echo begun; sleep 1000")]})
    with ScreenTerminal(
        robota,
        "--permission-mode",
        "bypassPermissions",
        columns=120,
        env={"TMUX": "there", "ROBOTA_REDUCED_MOTION": "1"},
    ) as terminal:
        terminal.sees("Idle")
        terminal.press("go\r")
        terminal.sees("    begun")
        terminal.press("x")
        terminal.sees("> x")
        before = len(terminal.screen)
        terminal.resize(40, 24)
        terminal.wait_until(lambda: "begun" in terminal.screen[before:])
        up = re.search(r"\x1b\[(\d+)A", terminal.screen[before:])
    assert up is not None and int(up[1]) == len(("□ Bash …", "    begun", "edge")) + 2


def test_a_question_is_mentioned_on_a_screen_that_hides_it(robota: Robota) -> None:
    (robota.workspace / "calc.py").write_text("a - b\n")
    edit = call("edit_file", path="calc.py", old_string="a - b", new_string="a + b")
    wait = call("execute_command", command="until [ -e go ]; do sleep 0.05; done")
    script(robota, {"calls": [wait]}, {"calls": [edit]}, {"text": "Done."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("go\r")
        terminal.sees("y yes")
        terminal.press("y")
        terminal.sees("□ Bash until")
        terminal.press("\x0f")
        terminal.sees("q close")
        (robota.workspace / "go").touch()
        terminal.sees("Robota has a question")
        terminal.press("\x1b")
        terminal.sees("w reply with a message")
