"""A user at a real terminal: asks are shown, answered, and nothing runs that was not allowed."""

import json
from pathlib import Path

import pytest

from tests.cli.scripts import call, script, sessions, write_settings
from tests.fakellm.server import running
from tests.harness.cli import Robota
from tests.harness.programs import needs
from tests.harness.session_log import log_text
from tests.harness.terminal import Terminal

WRITE = {"calls": [call("write_to_file", path="new.txt", content="hello\n")]}
DONE = {"text": "All done."}


@pytest.fixture(autouse=True)
def trusted(robota: Robota) -> None:
    """Nothing to trust in an empty workspace; but no question about a provider either."""
    script(robota, WRITE, DONE, {"text": "You are welcome."})


def test_an_approval_and_a_second_message(robota: Robota) -> None:
    with Terminal(robota, "make a file") as terminal:
        terminal.wait_for("Write new.txt")
        asked = terminal.wait_for("> ")
        assert "+hello" in asked and "Write needs approval in default mode." in asked
        assert not (robota.workspace / "new.txt").exists()
        terminal.press("y\n")
        terminal.wait_for("All done.")
        terminal.answer("> ", "thanks")
        terminal.wait_for("You are welcome.")
        terminal.wait_for("> ")
        terminal.press("\x04")
        assert terminal.end() == 0
    assert (robota.workspace / "new.txt").read_text() == "hello\n"
    assert len(sessions(robota)) == 1


def test_enter_allows_nothing_and_words_are_a_no(robota: Robota) -> None:
    with Terminal(robota, "make a file") as terminal:
        terminal.wait_for("Write new.txt")
        terminal.answer("> ", "")
        terminal.wait_for("Type y to approve")
        terminal.answer("> ", "call it other.txt please")
        terminal.wait_for("The user rejected it.")
        terminal.wait_for("All done.")
    assert not (robota.workspace / "new.txt").exists()
    log = log_text(sessions(robota)[0])
    assert "call it other.txt please" in log


def test_what_was_typed_before_the_question_is_no_answer_to_it(robota: Robota) -> None:
    slow = {"calls": [call("execute_command", command="until test -e go; do sleep 0.05; done")]}
    script(robota, slow, WRITE, DONE)
    with Terminal(robota, "--allowed-tools", "Bash", "make a file") as terminal:
        terminal.wait_for("Bash until")
        terminal.press("y\n")
        terminal.wait_for("queued")
        terminal.press("y")  # still in the line editor when the question comes
        (robota.workspace / "go").touch()
        terminal.wait_for("Write new.txt")
        terminal.answer("> ", "")
        terminal.wait_for("Type y to approve")
    assert not (robota.workspace / "new.txt").exists()


def test_a_rule_for_the_session_stops_the_question(robota: Robota) -> None:
    touch = {"calls": [call("execute_command", command="touch made")]}
    script(robota, touch, {"calls": [call("execute_command", command="touch made")]}, DONE)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("Bash(touch made) for this session (exactly this command)")
        terminal.answer("> ", "1")
        asked = terminal.wait_for("All done.")
        assert asked.count("needs approval") == 0
    assert (robota.workspace / "made").exists()


@needs("sed")
def test_a_command_can_be_changed_in_the_editor_first(robota: Robota, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/bad/good/" "$1"\n')
    editor.chmod(0o755)
    script(robota, {"calls": [call("execute_command", command="touch bad")]}, DONE)
    with Terminal(robota, "go", env={"EDITOR": str(editor)}) as terminal:
        terminal.wait_for("touch bad")
        terminal.answer("> ", "e")
        terminal.wait_for("All done.")
    assert (robota.workspace / "good").exists() and not (robota.workspace / "bad").exists()


def test_only_some_hunks(robota: Robota) -> None:
    before = [f"line {number}" for number in range(40)]
    after = ["FIRST" if row == "line 2" else "SECOND" if row == "line 30" else row for row in before]
    (robota.workspace / "a.txt").write_text("\n".join(before) + "\n")
    write = call("write_to_file", path="a.txt", content="\n".join(after) + "\n")
    script(robota, {"calls": [call("read_file", path="a.txt")]}, {"calls": [write]}, DONE)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("only these of the 2 changes")
        terminal.answer("> ", "h 2")
        terminal.wait_for("All done.")
    text = (robota.workspace / "a.txt").read_text()
    assert "SECOND" in text and "FIRST" not in text


def test_ctrl_c_stops_the_work_and_words_take_it_up_again(robota: Robota) -> None:
    script(robota, {"calls": [call("execute_command", command="sleep 1000")]}, DONE)
    with Terminal(robota, "--allowed-tools", "Bash", "go") as terminal:
        terminal.wait_for("Bash sleep 1000")
        terminal.press("\x03")
        terminal.wait_for("Interrupted.")
        terminal.answer("> ", "do something else")
        terminal.wait_for("All done.")
        terminal.wait_for("> ")
        terminal.press("\x04")
        assert terminal.end() == 0


def test_without_a_prompt_it_asks_for_one_and_orders_work(robota: Robota) -> None:
    with Terminal(robota) as terminal:
        terminal.wait_for("Describe a task")
        terminal.answer("> ", "/permission bypassPermissions")
        terminal.answer("> ", "make\x1b\ra file")
        terminal.wait_for("All done.")
    assert (robota.workspace / "new.txt").exists()


def test_twice_ctrl_c_leaves(robota: Robota) -> None:
    with Terminal(robota) as terminal:
        terminal.wait_for("> ")
        assert terminal.leave("\x03") == 130


def test_control_characters_of_a_model_never_reach_the_terminal(robota: Robota) -> None:
    """Neither in an answer nor in an approval request."""
    evil = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\u202egpj"
    script(robota, {"text": evil, "calls": [call("execute_command", command=f"touch {evil}")]}, DONE)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("$ touch")
        terminal.answer("> ", "n")
        terminal.wait_for("All done.")
        assert "\x1b]" not in terminal.screen and "\x1b[2J" not in terminal.screen and "\u202e" not in terminal.screen


def test_a_pasted_text_of_several_lines_is_one_message(robota: Robota) -> None:
    with Terminal(robota, "make a file") as terminal:
        terminal.wait_for("Write new.txt")
        terminal.answer("> ", "n")
        terminal.wait_for("All done.")
        terminal.answer("> ", "first line\nsecond line")
        terminal.wait_for("You are welcome.")
    log = log_text(sessions(robota)[0])
    assert json.dumps("first line\nsecond line")[1:-1] in log


def test_a_command_of_ones_own_runs_unasked_and_the_model_learns_of_it(robota: Robota) -> None:
    script(robota, {"text": "Hello."}, {"text": "Seen.", "expect": {"user": "what is that"}})
    with Terminal(robota) as terminal:
        terminal.answer("> ", "!echo h''i")
        terminal.wait_for("hi\n")
        terminal.answer("> ", "hello")
        terminal.wait_for("Hello.")
        terminal.answer("> ", "!echo y''o > made; cat made")
        terminal.wait_for("yo\n")
        terminal.answer("> ", "what is that")
        terminal.wait_for("Seen.")
    assert (robota.workspace / "made").read_text() == "yo\n"
    assert "ran a command themselves" in log_text(sessions(robota)[0])


@pytest.mark.parametrize("gives_up", [False, True])
def test_a_corrected_profile_answers_the_next_try(robota: Robota, gives_up: bool) -> None:
    """The user corrects the address in the settings while Robota runs; the next attempt uses it."""
    with running() as server:
        profile = {"type": "openai-compatible", "baseURL": "http://127.0.0.1:9/v1", "model": "wrong-name"}
        once = {**profile, "options": {"retry": {"maxRetries": 0}}}
        write_settings(robota, {"currentProvider": "x", "providers": {"x": once}})
        with Terminal(robota, "go") as terminal:
            terminal.wait_for("Press Enter to retry")
            right = ("--base-url", server.url, "--model", "right-name", "--api-key", "corrected-key-123456")
            assert robota("--configure-provider", "x", *right).code == 0
            terminal.wait_for("\n> ")
            terminal.press("n\n" if gives_up else "\n")
            if gives_up:
                terminal.answer("\n> ", "and now")
            terminal.wait_for("tokens in")
            assert terminal.hang_up() == 0
        assert json.loads(server.last_body)["model"] == "right-name"
        assert "corrected-key-123456" not in log_text(sessions(robota)[0])


def test_settings_that_broke_meanwhile_are_reported_at_the_next_try(robota: Robota) -> None:
    profile = {"type": "openai-compatible", "baseURL": "http://127.0.0.1:9/v1", "model": "m"}
    settings = {"currentProvider": "x", "providers": {"x": {**profile, "options": {"retry": {"maxRetries": 0}}}}}
    path = write_settings(robota, settings)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("Press Enter to retry")
        terminal.wait_for("> ")  # what is typed before that answers nothing
        path.write_text("{oops")
        terminal.press("\n")
        terminal.wait_for("this is not JSON")
        terminal.wait_for("Press Enter to retry")


def test_an_empty_answer_is_described_in_words(robota: Robota) -> None:
    """Not with the internal name of the fault."""
    script(robota, {"text": ""}, {"text": ""}, {"text": "at last"})
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("at last")
        assert terminal.hang_up() == 0
    assert "The model returned an empty answer." in terminal.screen and "MODEL_NO" not in terminal.screen
