"""Nothing is lost at the terminal UI: neither the conversation after an error nor what was typed."""

import os
import signal
from pathlib import Path

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.model_server import model_server
from tests.harness.programs import needs
from tests.harness.screen import ScreenTerminal
from tests.harness.tmux import TmuxWindow

EDIT = call("edit_file", path="calc.py", old_string="a - b", new_string="a + b")
COMMAND = call("execute_command", command="touch made")
STALLED_S = 10  # the replies that do come need less on any machine
FAULTS = ("401", "403", "404", "400", "429", "500", "badsse", "stall")


class Gate:
    """A command that nobody needs to approve, and that ends when the test lets it."""

    def __init__(self, robota: Robota) -> None:
        self._path = robota.workspace / "gate"
        os.mkfifo(self._path)
        self.call = call("execute_command", command="cat gate")

    def wait(self) -> None:
        """Until the command runs."""
        self._end = os.open(self._path, os.O_WRONLY)

    def open(self) -> None:
        os.close(self._end)


def calc(robota: Robota) -> Path:
    path = robota.workspace / "calc.py"
    path.write_text("def add(a, b):\n    return a - b\n")
    return path


@pytest.mark.parametrize(
    ("fault", "keys"),
    [
        *((fault, ["\x1b"]) for fault in FAULTS),
        *((fault, ["n\r"]) for fault in ("401", "429", "stall")),
        *(("401", keys) for keys in (["\x03"], ["a draft\x03", "\x1b"])),
    ],
)
def test_after_an_error_of_the_provider_the_conversation_goes_on(robota: Robota, fault: str, keys: list[str]) -> None:
    turns = ({"text": "Hello Ada."}, {"fault": fault}, {"text": "You are Ada."})
    patience = {"timeout": STALLED_S} if fault == "stall" else {}
    with (
        model_server(robota, *turns, options={"retry": {"maxRetries": 0}}, **patience) as server,
        ScreenTerminal(robota) as terminal,
    ):
        terminal.sees("Idle")
        terminal.press("my name is Ada\r")
        terminal.sees("Hello Ada.")
        terminal.sees("Idle")
        terminal.press("this one fails\r")
        terminal.sees("Press Enter to retry")
        for key in keys:
            terminal.press(key)
        terminal.sees("Interrupted.")
        terminal.press("what is my name\r")
        terminal.sees("You are Ada.")
        sent = server.texts()
    assert [role for role, _ in sent] == ["user", "assistant"] * 2 + ["user"]
    assert "my name is Ada" in sent[0][1] and "this one fails" in sent[2][1]
    assert "what is my name" in sent[4][1] and "this one fails" not in sent[4][1]


def test_no_after_an_interruption_keeps_the_conversation_too(robota: Robota) -> None:
    turns = ({"text": "Hello Ada."}, {"fault": "401"}, {"text": "You are Ada."})
    with model_server(robota, *turns) as server, ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("my name is Ada\r")
        terminal.sees("Hello Ada.")
        terminal.press("this one fails\r")
        terminal.sees("Press Enter to retry")
        terminal.press("\x1b")
        terminal.sees("Interrupted.")
        terminal.press("no\r")
        terminal.sees("the conversation is kept")
        terminal.sees("> no")
        terminal.press("\x15what is my name\r")
        terminal.sees("You are Ada.")
        assert "my name is Ada" in server.texts()[0][1]


def test_escape_twice_clears_a_draft_that_up_brings_back(robota: Robota) -> None:
    script(robota, {"text": "Said."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("a long thought")
        terminal.sees("> a long thought")
        terminal.press("\x1b")
        rows = terminal.sees("Press Esc again to clear the input")
        assert any("Mode: default" in row for row in rows)
        terminal.press("\x1b")
        terminal.sees("Press Up to bring it back")
        terminal.sees_no_more("> a long thought")
        terminal.press("\x1b[A")
        terminal.sees("> a long thought")
        terminal.press("\x03")
        terminal.sees("Press Up to bring it back")
        terminal.press("\x1b[Z")
        rows = terminal.sees("Mode: acceptEdits")
        terminal.sees_no_more("bring it back")


def test_escape_never_touches_a_draft_of_somebody_who_uses_vi_keys(robota: Robota) -> None:
    script(robota, {"text": "Said."})
    with ScreenTerminal(robota, env={"ROBOTA_KEYS": "vi"}) as terminal:
        terminal.sees("Idle")
        terminal.press("a long thought")
        terminal.sees("> a long thought")
        for _ in range(3):
            terminal.press("\x1b")
        terminal.press("A, finished\r")
        terminal.sees("> a long thought, finished")
        terminal.sees("Said.")


def test_a_hint_goes_away_by_itself(robota: Robota) -> None:
    script(robota, {"text": "Said."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("\x1b")
        terminal.sees("Press Esc again to rewind")
        terminal.sees_no_more("Press Esc again to rewind")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_draft_is_found_after_the_next_start(robota: Robota, number: signal.Signals) -> None:
    script(robota, {"text": "Said."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("a long thought")
        terminal.sees("> a long thought")
        terminal.send(number)
        assert terminal.end() == 128 + number
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("\x1b[A")
        terminal.sees("> a long thought")


def test_choosing_an_earlier_prompt_keeps_the_draft(robota: Robota) -> None:
    script(robota, {"text": "Said."}, {"text": "Again."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("first\r")
        terminal.sees("Said.")
        terminal.press("a long thought\x12")
        terminal.sees("Previous prompts")
        terminal.press("\r")
        terminal.sees("Your draft is kept")
        terminal.press("\x12")
        terminal.sees("Previous prompts")
        terminal.press("long\r")
        terminal.sees("> a long thought")


def test_a_rewind_says_that_it_happened_only_when_it_did(robota: Robota) -> None:
    file = calc(robota)
    script(robota, {"calls": [EDIT]}, {"text": "Fixed."})
    with ScreenTerminal(robota, "--permission-mode", "acceptEdits") as terminal:
        terminal.sees("Idle")
        terminal.press("fix it\r")
        terminal.sees("Fixed.")
        terminal.sees("Idle")
        terminal.press("/rewind restore 1\r")
        terminal.sees("would be rewound")
        terminal.sees("y yes")
        terminal.press("n")
        terminal.sees("Nothing was changed.")
        told = "\n".join(terminal.scrolled)
        assert told.count("rewound") == told.count("would be rewound") == 1
        assert file.read_text().endswith("a + b\n")
        terminal.press("/rewind restore 1\r")
        terminal.sees("y yes")
        terminal.press("y")
        terminal.sees("conversation  rewound")
        assert file.read_text().endswith("a - b\n")


def test_a_letter_typed_before_a_card_goes_into_the_draft_and_the_card_can_still_be_answered(robota: Robota) -> None:
    gate = Gate(robota)
    script(robota, {"calls": [gate.call]}, {"calls": [COMMAND]}, {"text": "Done."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("do it\r")
        gate.wait()
        terminal.press("y")
        terminal.sees("> y")
        gate.open()
        terminal.sees("Run this command?")
        assert not (robota.workspace / "made").exists()
        terminal.sees("Press Tab to answer; your draft is kept.")
        terminal.sees("y yes")
        rows = terminal.sees("Your draft is kept; Tab returns to it.")
        assert any(row == "> y" for row in rows)
        terminal.press("y")
        terminal.sees("Done.")
        assert (robota.workspace / "made").exists()
        terminal.sees("> y")


def test_writing_at_a_card_answers_nothing_until_tab_is_pressed(robota: Robota) -> None:
    script(robota, {"calls": [COMMAND]}, {"text": "Done."}, {"text": "Thanks."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("do it\r")
        terminal.sees("y yes")
        terminal.press("thanks, y")
        terminal.sees("> thanks, y")
        terminal.sees("Press Tab to answer; your draft is kept.")
        assert not (robota.workspace / "made").exists()
        terminal.press("\t")
        terminal.sees("y yes")
        terminal.press("y")
        terminal.sees("Done.")
        terminal.sees("> thanks, y")


def test_tab_leads_from_a_card_to_the_draft_and_the_card_says_how_to_return(robota: Robota) -> None:
    gate = Gate(robota)
    script(robota, {"calls": [gate.call]}, {"calls": [COMMAND]}, {"text": "Done."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("do it\r")
        gate.wait()
        terminal.press("more")
        terminal.sees("> more")
        gate.open()
        terminal.sees("y yes")
        terminal.press("\t")
        terminal.sees_no_more("y yes")
        terminal.sees("Press Tab to answer; your draft is kept.")
        terminal.press(" words")
        terminal.sees("> more words")
        terminal.sees("Press Tab to answer; your draft is kept.")
        terminal.press("\t")
        terminal.sees("y yes")
        terminal.press("y")
        terminal.sees("Done.")
        terminal.sees("> more words")


def test_words_for_a_card_that_were_given_up_are_found_again(robota: Robota) -> None:
    script(robota, {"calls": [COMMAND]}, {"text": "Done."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("do it\r")
        terminal.sees("y yes")
        terminal.press("w")
        terminal.sees("Type y or n, then your message")
        terminal.press("n use another name")
        terminal.sees("n use another name")
        terminal.press("\x1b")
        terminal.sees("What you wrote is kept")
        terminal.sees("y yes")
        terminal.press("\x1b")
        terminal.sees("Interrupted.")
        terminal.press("\x1b[A")
        terminal.sees("> n use another name")


@needs("tmux")
def test_in_tmux_escape_leads_out_of_an_error_and_up_brings_the_draft_back(robota: Robota) -> None:
    with model_server(robota, {"fault": "401"}, {"text": "Better."}) as server, TmuxWindow(robota) as window:
        window.sees("Idle")
        window.type("first")
        window.press("Enter")
        window.sees("Press Enter to retry")
        window.type("a draft")
        window.press("Escape")
        window.sees("Interrupted.")
        window.press("C-c")
        window.sees("Press Up to bring it back")
        window.press("Up")
        window.sees("> a draft")
        window.press("Enter")
        window.sees("Better.")
        assert [role for role, _ in server.texts()] == ["user", "assistant", "user"]
