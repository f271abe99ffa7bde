"""Logs that are too long to be read: a repository can bring one along, and nobody waits for it.

They have a hole in the middle, which takes no room on the disk and could not be read to its end.
"""

import json
from pathlib import Path

import pytest

from robota.log.chain.reader import LOG_NAME
from tests.harness.cli import Robota
from tests.log.catalogue.logs import Written

HOLE_BYTES = 10**12


@pytest.fixture
def planted(robota: Robota) -> Path:
    """A log with its first prompt before the gap, and a question after it."""
    written = Written(robota.workspace, "planted").prompt("what it began with").prompt("and what it should do")
    before = (written.directory / LOG_NAME).stat().st_size
    written.row(say="text", text="the last answer")
    written.ask(ask="followup", text='{"question": "Shall it go on?", "suggest": []}')
    written.close()
    log = written.directory / LOG_NAME
    content = log.read_bytes()
    with log.open("r+b") as stream:
        stream.truncate(before)
        stream.seek(before + HOLE_BYTES)
        stream.write(b"\n" + content[before:])
    return log


def test_the_list_shows_beginning_and_end(robota: Robota, planted: Path) -> None:
    for _ in range(2):
        [session] = json.loads(robota("sessions", "list", "--json").stdout)
        assert (session["title"], session["state"]) == ("what it began with", "waiting")
        assert session["isPartial"] and session["turns"] == 2
    assert " 2+ " in robota("sessions", "list").stdout


def test_its_state_is_that_of_its_end(robota: Robota, planted: Path) -> None:
    state = json.loads(robota("state", "planted", "--json").stdout)
    assert state["state"]["state"] == "waiting_for_input" and "Shall it go on?" in state["ask"]["text"]


def test_its_last_words_are_shown(robota: Robota, planted: Path) -> None:
    shown = json.loads(robota("sessions", "show", "what it began", "--last", "2", "--json").stdout)
    assert [entry["text"] for entry in shown["entries"]] == ["the last answer", "Question: Shall it go on?"]
    assert shown["entries"][0]["kind"] == "reply"


def test_its_beginning_can_be_searched(robota: Robota, planted: Path) -> None:
    [found] = json.loads(robota("sessions", "search", "began", "--json").stdout)
    assert found["id"] == "planted"


def test_it_can_be_deleted_and_brought_back_by_its_words(robota: Robota, planted: Path) -> None:
    assert robota("sessions", "delete", "planted").code == 0
    assert robota("sessions", "delete", "--undo", "other words").code == 3
    assert robota("sessions", "delete", "--undo", "began with").code == 0
    assert planted.exists()
