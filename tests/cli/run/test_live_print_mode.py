"""Print mode at a terminal: words as they come, what runs, how to go on; and none of it for scripts."""

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal

TURNS = ({"text": "I will look.", "calls": [call("list_files", path=".")]}, {"text": "All **done**."})


def test_the_user_sees_progress_the_streamed_answer_and_how_to_continue(robota: Robota) -> None:
    script(robota, *TURNS)
    with Terminal(robota, "-p", "look", env={"TERM": "xterm"}, size=(80, 24)) as terminal:
        assert terminal.end() == 0
    screen = terminal.screen.replace("\r", "")
    places = [screen.index(words) for words in ("I will look.", "● List", "All **done**.", "Continue: robota")]
    assert places == sorted(places)
    assert screen.count("All **done**.") == 1
    assert "2 requests" in screen


def test_quiet_prints_the_answer_alone(robota: Robota) -> None:
    script(robota, *TURNS)
    with Terminal(robota, "-p", "look", "--quiet", env={"TERM": "xterm"}, size=(80, 24)) as terminal:
        assert terminal.end() == 0
    assert terminal.screen.replace("\r", "") == "All **done**.\n"


def test_a_terminal_that_moves_no_cursor_gets_no_control_sequences(robota: Robota) -> None:
    script(robota, *TURNS)
    with Terminal(robota, "-p", "look", env={"TERM": "dumb", "NO_COLOR": "1"}, size=(80, 24)) as terminal:
        assert terminal.end() == 0
    assert "\x1b" not in terminal.screen and "Continue:" in terminal.screen


def test_a_script_sees_none_of_it(robota: Robota) -> None:
    script(robota, *TURNS)
    done = robota("-p", "look")
    assert (done.code, done.stdout, done.stderr) == (0, "All **done**.\n", "")


def test_quiet_and_verbose_do_not_go_together(robota: Robota) -> None:
    script(robota, *TURNS)
    done = robota("-p", "look", "--quiet", "--verbose")
    assert done.code == 2 and "--quiet" in done.stderr


def test_progress_is_shown_and_updated_while_a_command_runs(robota: Robota) -> None:
    turns = {"text": "I will wait.", "calls": [call("execute_command", command="until [ -e go ]; do sleep 0.1; done")]}
    script(robota, turns, {"text": "It came."})
    with Terminal(robota, "-p", "wait", "--yolo", env={"TERM": "xterm"}, size=(80, 24)) as terminal:
        terminal.wait_for("… Bash until")
        terminal.wait_for("… Bash until")  # it counts on by itself
        (robota.workspace / "go").touch()
        terminal.wait_for("It came.")
        assert terminal.end() == 0
