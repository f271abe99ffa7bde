"""Commands that only look take the newest session of this machine if none is named, and say which that is."""

import json
from pathlib import Path

import pytest

from tests.harness.cli import Robota
from tests.log.catalogue.logs import Written, note_as_own


@pytest.fixture
def project(robota: Robota) -> Robota:
    """Two sessions of this machine, and a newer one that came along."""
    own = [
        Written(robota.workspace, name).prompt(words).reply("yes").end().directory
        for name, words in (("older", "the first thing"), ("newer", "the second thing"))
    ]
    note_as_own(robota.home / ".robota", own)
    Written(robota.workspace, "planted").prompt("take me").reply("yes").end()
    return robota


@pytest.mark.parametrize(
    "command",
    [
        ("state",),
        ("sessions", "show"),
        ("sessions", "export"),
        ("sessions", "watch"),
        ("replay",),
        ("report", "-o", "packed.zip"),
    ],
)
def test_the_newest_own_session_is_taken_and_named(project: Robota, command: tuple[str, ...]) -> None:
    done = project(*command)
    assert "Using the latest session, newer (the second thing)." in done.stderr
    assert "planted" not in done.stdout and "older" not in done.stdout


def test_json_stays_json(project: Robota) -> None:
    assert json.loads(project("state", "--json").stdout)["sessionId"] == "newer"


def test_without_any_it_is_said(robota: Robota) -> None:
    Written(robota.workspace, "planted").prompt("take me").end()
    for command in (("state",), ("sessions", "show"), ("report",)):
        done = robota(*command)
        assert done.code == 3 and "There is no session of this machine in" in done.stderr
    assert not list(Path(robota.workspace).glob("*.zip"))


def test_what_changes_something_is_never_guessed(project: Robota) -> None:
    for command in (("answer",), ("sessions", "delete"), ("sessions", "rename"), ("sessions", "fork")):
        assert project(*command).code == 2
