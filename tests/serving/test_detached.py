"""Sessions without a terminal: started so, or left by a terminal that died."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.tmux import TmuxWindow

WRITE = {"calls": [call("write_to_file", path="a.txt", content="a\n")]}


@pytest.fixture(autouse=True)
def nothing_left(robota: Robota) -> Iterator[None]:
    yield
    for each in running(robota):
        os.kill(each["pid"], signal.SIGKILL)


def running(robota: Robota) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(robota("ps", "--json").stdout)
    return listed


def until_asked(robota: Robota, kind: str) -> dict[str, Any]:
    """The only running session, once it asks this."""
    while listed := running(robota):
        if listed[0]["ask"] is not None and listed[0]["ask"]["ask"] == kind:
            return listed[0]
    raise AssertionError(f"no session is left that could ask {kind}")


def with_settings(robota: Robota, **changed: Any) -> None:
    path = robota.home / ".robota/settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))


def test_a_detached_session_works_asks_is_answered_and_ends_by_itself(robota: Robota) -> None:
    script(robota, WRITE, {"text": "Written."})
    with_settings(robota, detachedIdleMinutes=0.01)
    started = robota("--detach", "write a file")
    assert started.code == 0, started
    session = until_asked(robota, "tool")
    assert session["sessionId"] == started.stdout.strip() and session["pid"] != os.getpid()
    assert robota("answer", session["sessionId"], "yes").code == 0
    while running(robota):
        pass
    assert (robota.workspace / "a.txt").read_text() == "a\n"
    assert session["sessionId"] in robota("sessions", "list").stdout


def test_what_cannot_be_detached_is_said_before_anything_starts(robota: Robota) -> None:
    for words, said in ((), "needs a task"), (("-p", "hello"), "-p"), (("--resume", "gone", "hello"), "gone"):
        refused = robota("--detach", *words)
        assert refused.code != 0 and said in refused.stderr, refused
    assert running(robota) == []


def test_a_session_that_was_left_goes_on_where_it_waited(robota: Robota) -> None:
    script(robota, WRITE, {"text": "Written."})
    robota("--detach", "write a file")
    first = until_asked(robota, "tool")
    assert robota("stop", first["sessionId"]).code == 0
    assert robota("--detach", "--resume", first["sessionId"]).stdout.strip() == first["sessionId"]
    again = until_asked(robota, "tool")
    assert again["ask"]["callId"] == first["ask"]["callId"]
    assert robota("answer", again["sessionId"], "yes").code == 0
    while not (robota.workspace / "a.txt").exists():
        assert running(robota)


@pytest.mark.parametrize("chosen", ["pause", "detach"])
def test_a_terminal_that_dies_pauses_the_session_or_leaves_it_running(robota: Robota, chosen: str) -> None:
    script(robota, WRITE, {"text": "Written."})
    with_settings(robota, onHangup=chosen)
    with TmuxWindow(robota, "write a file") as window:
        window.sees("a.txt")
        [session] = running(robota)
        window.close()
        if chosen == "pause":
            while running(robota):
                pass
            return
        while is_at_terminal(session["pid"]):
            assert running(robota)
    assert robota("answer", session["sessionId"], "yes").code == 0
    until_asked(robota, "completion_result")
    assert (robota.workspace / "a.txt").read_text() == "a\n"


def test_a_conversation_that_never_had_a_terminal_ends_with_its_input(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    with_settings(robota, onHangup="detach")
    assert "Hello." in robota("--plain", "say hello", stdin="").stdout
    assert running(robota) == []


def is_at_terminal(pid: int) -> bool:
    return str(Path(f"/proc/{pid}/fd/0").readlink()) != os.devnull
