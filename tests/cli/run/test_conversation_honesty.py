"""What was typed is what is sent, what is answered is shown, and Ctrl+C stops what runs in every state."""

import signal

import pytest

from tests.cli.scripts import call, script, sessions
from tests.harness.cli import Robota
from tests.harness.programs import needs
from tests.harness.session_log import log_records
from tests.harness.terminal import Terminal

FIRST, SECOND, DONE = {"text": "First."}, {"text": "Second."}, {"text": "All done."}
WAIT = "until test -e go; do sleep 0.05; done"


def user_texts(robota: Robota) -> list[str]:
    """The texts of the user after the first prompt, according to the log."""
    records = log_records(sessions(robota)[0])
    return [record["payload"]["text"] for record in records if record["kind"] == "answer"]


def bash(command: str) -> dict[str, object]:
    return {"calls": [call("execute_command", command=command)]}


def test_a_paste_that_was_given_up_is_not_sent(robota: Robota) -> None:
    """Whether it is discarded with Ctrl+U or with Ctrl+C."""
    script(robota, FIRST, SECOND, DONE)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("First.")
        terminal.wait_for("> ")
        terminal.press("one\rtwo\rthree")
        terminal.wait_for("three")
        terminal.press("\x15\x03")
        terminal.wait_for("(press Ctrl+C again or Ctrl+D to exit)")
        terminal.answer("> ", "hello")
        terminal.wait_for("Second.")
        terminal.wait_for("> ")
        terminal.press("\x1b[200~one\rtwo\x1b[201~")
        terminal.wait_for("two")
        terminal.press("\x03")
        terminal.wait_for("(press Ctrl+C again or Ctrl+D to exit)")
        terminal.answer("> ", "again")
        terminal.wait_for("All done.")
    assert user_texts(robota) == ["hello", "again"]


@pytest.mark.parametrize("answer", ["npm", "A", "sk-", "---", "gh"])
def test_an_answer_that_could_begin_a_key_is_shown(robota: Robota, answer: str) -> None:
    """Text that could become a key is held back only until the answer ends."""
    script(robota, {"text": answer})
    with Terminal(robota, "go") as terminal:
        terminal.wait_for(f"{answer}\n")
        assert terminal.hang_up() == 0


def test_keys_that_only_steer_a_terminal_are_not_sent(robota: Robota) -> None:
    """Arrows, function keys, Escape, Ctrl+L, and the colours of pasted text."""
    script(robota, FIRST, SECOND)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("First.")
        terminal.wait_for("> ")
        terminal.press("he\x1b[A\x1b[1;5Cl\x1bOP\x0clo\x01 \x1b[200~\x1b[31mred\x1b[0m\x07\x1b[201~")
        terminal.wait_for("red")
        terminal.press("\r")
        terminal.wait_for("Second.")
    assert user_texts(robota)[0].replace("\n", "") == "hello red"


def test_rubbing_out_takes_whole_letters_words_and_lines(robota: Robota) -> None:
    """A Hangul syllable is three bytes and two columns wide."""
    script(robota, FIRST, SECOND, DONE)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("First.")
        terminal.wait_for("> ")
        terminal.press("한국\x7f어 e\u0301\x7fx two\x17three\r")
        terminal.wait_for("Second.")
        terminal.wait_for("> ")
        terminal.press("wrong\x15right\r")
        terminal.wait_for("All done.")
        assert "wrong" + "\b \b" * 5 + "right" in terminal.screen
    assert user_texts(robota) == ["한어 x three", "right"]


def test_the_line_ends_of_other_systems_are_one_line_end(robota: Robota) -> None:
    """With and without the marks that terminals put around a paste."""
    script(robota, FIRST, SECOND, DONE)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("First.")
        terminal.wait_for("> ")
        terminal.press("one\r\ntwo\r\n")
        terminal.wait_for("Second.")
        terminal.wait_for("> ")
        terminal.press("\x1b[200~one\r\n\r\ntwo\x1b[201~\r")
        terminal.wait_for("All done.")
    assert user_texts(robota) == ["one\ntwo", "one\n\ntwo"]


def test_a_slow_paste_is_one_message(robota: Robota) -> None:
    """It ends where the terminal says, however long it takes."""
    script(robota, FIRST, SECOND)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("First.")
        terminal.wait_for("> ")
        terminal.press("\x1b[200~one\r")
        terminal.send(signal.SIGCONT)  # something to wait for between the two pieces
        terminal.wait_for("> ")
        terminal.press("two\x1b[201~\r")
        terminal.wait_for("Second.")
    assert user_texts(robota) == ["one\ntwo"]


def test_half_typed_words_are_shown_again_when_an_answer_ends(robota: Robota) -> None:
    """They were typed while the agent worked, and are still in the input."""
    script(robota, bash(WAIT), FIRST, SECOND)
    with Terminal(robota, "--allowed-tools", "Bash", "go") as terminal:
        terminal.wait_for("Bash until")
        terminal.press("half a li")
        terminal.wait_for("half a li")
        (robota.workspace / "go").touch()
        terminal.wait_for("First.")
        terminal.wait_for("> half a li")
        terminal.press("ne\r")
        terminal.wait_for("Second.")
    assert user_texts(robota) == ["half a line"]


def test_what_was_not_shown_cannot_be_approved(robota: Robota) -> None:
    """The end of a long text must have been shown before a yes counts."""
    content = "".join(f"line {number}\n" for number in range(300))
    script(robota, {"calls": [call("write_to_file", path="long.txt", content=content)]}, DONE)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("more lines: type all to see them")
        terminal.answer("> ", "y")
        terminal.wait_for("Not everything has been shown yet")
        assert not (robota.workspace / "long.txt").exists()
        terminal.answer("> ", "all")
        terminal.wait_for("+line 299")
        terminal.answer("> ", "go ahead")
        terminal.wait_for("All done.")
    assert (robota.workspace / "long.txt").read_text() == content


@needs("sed")
def test_a_command_that_was_changed_first_is_shown_as_it_runs(robota: Robota) -> None:
    """An edit that the user changed first is shown as it is written, too."""
    editor = robota.workspace.parent / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/bad/good/" "$1"\n')
    editor.chmod(0o755)
    write = {"calls": [call("write_to_file", path="new.txt", content="bad text\n")]}
    script(robota, bash("touch bad"), write, DONE)
    with Terminal(robota, "go", env={"EDITOR": str(editor)}) as terminal:
        terminal.wait_for("$ touch bad")
        terminal.answer("> ", "e")
        terminal.wait_for("$ touch good")
        terminal.wait_for("+bad text")
        terminal.answer("> ", "e")
        terminal.wait_for("+ good text")
        terminal.wait_for("All done.")


def test_the_only_change_can_be_chosen_by_its_number(robota: Robota) -> None:
    """`h 1` approves an edit that consists of one change."""
    script(robota, {"calls": [call("write_to_file", path="new.txt", content="text\n")]}, DONE)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("+text")
        terminal.answer("> ", "h 1")
        terminal.wait_for("All done.")
    assert (robota.workspace / "new.txt").exists()


def test_nothing_is_accepted_that_has_no_effect(robota: Robota) -> None:
    """`/retry` where nothing waits says so."""
    script(robota, FIRST)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("First.")
        terminal.answer("> ", "/retry")
        terminal.wait_for("No request is waiting to be retried.")


def test_the_terminal_is_left_as_it_was(robota: Robota) -> None:
    """A shell gets its line editor and its echo back."""
    script(robota, FIRST)
    with Terminal(robota, "go") as terminal:
        before = terminal.modes()
        terminal.wait_for("First.")
        terminal.wait_for("> ")
        assert terminal.modes() != before
        terminal.press("\x04")
        assert terminal.end() == 0
        assert terminal.modes() == before
