"""Leaving a terminal: the session goes on in a process without one, and windows follow it there."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal
from tests.harness.tmux import TmuxWindow
from tests.serving.test_detached import nothing_left, running, until_asked, with_settings

__all__ = ["nothing_left"]

WRITE = call("write_to_file", path="a.txt", content="a\n")
WAITS = "echo once >> ran.txt; until [ -e go ]; do sleep 0.05; done; echo ended >> ran.txt"
FREELY = ("--allowed-tools", "Bash", "--settings", '{"sandbox": {"enabled": false}}')


@pytest.fixture
def waiting(robota: Robota) -> Iterator[Robota]:
    """A session whose model runs a command that waits for a file."""
    script(robota, {"calls": [call("execute_command", command=WAITS)]}, {"text": "Not asked here."})
    yield robota
    (robota.workspace / "go").touch()


def until_there(robota: Robota, name: str) -> None:
    while not (robota.workspace / name).exists():
        running(robota)


def test_detach_while_a_command_runs_then_approve_and_rewind_in_another_window(waiting: Robota) -> None:
    with TmuxWindow(waiting, *FREELY, "run and write") as first:
        until_there(waiting, "ran.txt")
        [before] = running(waiting)
        first.type("/detach")
        first.press("Enter")
        first.sees("as soon as what runs")
        script(waiting, {"calls": [WRITE]}, {"text": "Written."})
        (waiting.workspace / "go").touch()
        first.sees("To come back: robota attach")
        first.sees("shell:")
    asked = until_asked(waiting, "tool")
    assert asked["sessionId"] == before["sessionId"] and asked["pid"] != before["pid"]
    assert (waiting.workspace / "ran.txt").read_text() == "once\nended\n"
    with TmuxWindow(waiting, "attach", rows=40) as second:
        second.sees("run and write")
        second.sees("Write a.txt?")
        second.sees("y yes")
        second.press("y")
        second.sees("Written.")
        assert (waiting.workspace / "a.txt").read_text() == "a\n"
        second.type("/rewind restore 1")
        second.press("Enter")
        second.sees("no, change nothing")
        second.press("y")
        while (waiting.workspace / "a.txt").exists():
            assert running(waiting), second.screen()
    verified = waiting("sessions", "verify", asked["sessionId"])
    assert verified.code == 0, verified


@pytest.mark.parametrize("interface", ["--plain", "drawn"])
def test_a_question_stays_open_when_its_terminal_is_left(robota: Robota, interface: str) -> None:
    script(robota, {"calls": [WRITE]}, {"text": "Written."})
    plain = [interface] if interface == "--plain" else []
    with TmuxWindow(robota, *plain, "write a file") as window:
        window.sees("a.txt")
        before = until_asked(robota, "tool")
        script(robota, {"text": "Written."})
        window.type("/detach")
        window.press("Enter")
        window.sees("To come back: robota attach")
    asked = until_asked(robota, "tool")
    assert asked["ask"]["callId"] == before["ask"]["callId"]
    assert robota("answer", asked["sessionId"], "yes").code == 0
    until_asked(robota, "completion_result")
    assert (robota.workspace / "a.txt").read_text() == "a\n"


def test_what_was_stopped_while_the_session_was_left_waits_for_the_user(waiting: Robota) -> None:
    with TmuxWindow(waiting, *FREELY, "run and write") as window:
        until_there(waiting, "ran.txt")
        window.type("/detach")
        window.press("Enter")
        window.sees("as soon as what runs")
        window.press("C-c")
        window.sees("To come back: robota attach")
    [left] = running(waiting)
    assert left["state"]["currentAsk"] == "resume_task"
    assert (waiting.workspace / "ran.txt").read_text() == "once\n"


def test_background_processes_are_named_before_they_end(robota: Robota) -> None:
    start = call("execute_command", command="sleep 600", run_in_background=True)
    script(robota, {"calls": [start]}, {"text": "Started."})
    with TmuxWindow(robota, *FREELY, "start a server", columns=120) as window:
        window.sees("Started.")
        window.type("/detach")
        window.press("Enter")
        window.sees("bg1 (sleep 600)")
        window.type("/detach anyway")
        window.press("Enter")
        window.sees("To come back: robota attach")
    [left] = running(robota)
    assert left["state"]["state"] == "idle"


def test_two_windows_answer_in_turn_and_the_session_outlives_the_one_that_started_it(robota: Robota) -> None:
    writes = [{"calls": [call("write_to_file", path=f"{name}.txt", content=f"{name}\n")]} for name in "abc"]
    script(robota, *writes)
    with TmuxWindow(robota, "write three files") as first:
        first.sees("Write a.txt?")
        with TmuxWindow(robota, "attach") as second:
            for window, other, name, following in ((second, first, "a", "b"), (first, second, "b", "c")):
                window.sees(f"Write {name}.txt?")
                window.sees("y yes")
                window.press("y")
                window.sees(f"Write {following}.txt?")
                other.sees(f"Write {following}.txt?")
                assert (robota.workspace / f"{name}.txt").read_text() == f"{name}\n"
            script(robota, {"text": "All written."})
            first.type("/exit")
            first.press("Enter")
            first.sees("To come back: robota attach")
            second.sees("y yes")
            second.press("y")
            second.sees("All written.")
    assert until_asked(robota, "completion_result")


def test_a_model_chosen_in_one_window_is_used_in_all(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    path = robota.home / ".robota/settings.json"
    settings = json.loads(path.read_text())
    profile: dict[str, Any] = next(iter(settings["providers"].values()))
    with_settings(robota, providers={**settings["providers"], "second": {**profile, "model": "other-model"}})
    with TmuxWindow(robota, "say hello") as first:
        first.sees("Hello.")
        with TmuxWindow(robota, "attach") as second:
            second.sees("Hello.")
            second.type("/provider second")
            second.press("Enter")
            while (listed := running(robota)) == [] or listed[0]["model"] != "other-model":
                assert "robota: " not in first.screen(), first.screen()
            for window in (first, second):
                window.type("/status")
                window.press("Enter")
                window.sees("other-model")


def test_another_session_chosen_in_a_window_is_opened_there(robota: Robota) -> None:
    script(robota, {"text": "Earlier."})
    earlier = json.loads(robota("-p", "the first one", "--output-format", "json").stdout)["session_id"]
    script(robota, {"text": "Now."})
    with Terminal(robota, "the second one") as first:
        first.wait_for("Now.")
        [there] = running(robota)
        with Terminal(robota, "attach", "--plain") as second:
            second.wait_for("Now.")
            second.answer("> ", f"/resume {earlier}")
            second.wait_for("Earlier.")
            second.answer("> ", "/exit")
            assert second.end() == 0
        assert [each["sessionId"] for each in running(robota)] == [there["sessionId"]]
        assert os.getpid() != there["pid"]


def test_a_conversation_that_is_stopped_elsewhere_says_so_and_can_be_resumed(robota: Robota) -> None:
    script(robota, {"text": "Hello there."})
    with Terminal(robota, "--plain", "hello") as window:
        window.wait_for("Hello there.")
        [listed] = running(robota)
        stopped = robota("stop", listed["sessionId"])
        assert stopped.code == 0, stopped
        window.wait_for("closed in another window. To resume it: robota --resume")
        assert window.end() == 0
    assert running(robota) == []
    script(robota, {"text": "Again."})
    assert "Again." in robota("-p", "--resume", listed["sessionId"], "go on").stdout
