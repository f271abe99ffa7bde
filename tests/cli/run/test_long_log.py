"""Taking up a session whose long log has no snapshot, as after a move to this machine: its end is seen first."""

import signal
from pathlib import Path

import pytest

from tests.cli.scripts import script
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal
from tests.log.catalogue.logs import Written, note_as_own

MEGABYTE = "x" * 1_000_000


@pytest.fixture
def long_session(robota: Robota) -> Path:
    written = Written(robota.workspace, "long").prompt("what it began with")
    for _ in range(18):
        written.row(say="reasoning", text=MEGABYTE)
    written.reply("the very last words").close()
    note_as_own(robota.home / ".robota", [written.directory])
    script(robota, {"text": "Here I go on."})
    return written.directory


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_its_end_is_shown_once_and_before_the_log_is_read(robota: Robota, long_session: Path, term: str) -> None:
    with Terminal(robota, "-c", env={"TERM": term}, size=(80, 24)) as terminal:
        seen = terminal.wait_for("Reading its log")
        assert "the very last words" in seen
        seen = terminal.wait_for("Interrupted")
        assert "the very last words" not in seen
        if term == "dumb":
            terminal.wait_for("> ")
        terminal.press("go\r" if term != "dumb" else "go\n")
        terminal.wait_for("Here I go on.")
    assert len(list((robota.home / ".robota/snapshots").iterdir())) == 1


def test_its_end_is_shown_first_if_it_was_never_condensed(robota: Robota) -> None:
    """The snapshot is then as long as the conversation, because it holds all that the model is shown."""
    written = Written(robota.workspace, "long").prompt("what it began with")
    for _ in range(18):
        written.reply(MEGABYTE)
    written.reply("the very last words").end()
    note_as_own(robota.home / ".robota", [written.directory])
    script(robota, {"text": "Here I go on."})
    assert robota("-c", "-p", "go on").code == 0
    assert [path.stat().st_size > 18_000_000 for path in (robota.home / ".robota/snapshots").iterdir()] == [True]
    with Terminal(robota, "-c", size=(80, 24)) as terminal:
        shown = terminal.wait_for("Reading its log")
    assert "Here I go on." in shown
    assert "the very last words" in shown
    assert "(Earlier messages: /history)" in shown
    assert MEGABYTE not in shown


def test_reading_it_can_be_stopped(robota: Robota, long_session: Path) -> None:
    before = (long_session / "log.jsonl").read_bytes()
    with Terminal(robota, "-c") as terminal:
        terminal.wait_for("Reading its log")
        terminal.send(signal.SIGINT)
        assert terminal.end() == 130
    assert (long_session / "log.jsonl").read_bytes() == before
