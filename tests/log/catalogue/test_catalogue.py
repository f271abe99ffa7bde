"""The list of sessions is the same with an index, without one, and with one that is damaged or out of date."""

import sqlite3
from pathlib import Path

import pytest

from robota.log.catalogue.catalogue import CataloguedSession, catalogue
from robota.log.catalogue.places import all_places, project_places
from robota.log.chain.writer import SessionLog
from robota.log.kinds.session import EndRecord, NameRecord
from tests.log.catalogue.logs import Clock, Written, note_as_own


class Place:
    """A project and a user's directory, and what was said about the index."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "project"
        self.user = tmp_path / "user"
        self.root.mkdir()
        self.index = self.user / "index" / "sessions.sqlite"
        self.notices: list[str] = []

    def sessions(self, *, every: bool = False) -> tuple[CataloguedSession, ...]:
        places = (all_places if every else project_places)(self.root, self.user)
        return catalogue(places, self.user, self.notices.append)

    def only(self) -> CataloguedSession:
        (session,) = self.sessions()
        return session


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_session_is_summed_up(place: Place) -> None:
    Written(place.root, "s1", name="parser").prompt("Fix  the\nparser").reply("Yes.").prompt("More").reply("So.").end()
    session = place.only()
    assert (session.name, session.summary.title, session.model) == ("parser", "Fix the parser", "m-1")
    assert (session.summary.turns, session.summary.cost, session.summary.tokens) == (2, 0.5, 30)
    assert (session.state, session.is_live, session.cwd) == ("completed", False, str(place.root))


def test_files_and_tools_of_calls_are_known(place: Place) -> None:
    written = Written(place.root, "s1").prompt("x")
    written.call("edit_file", {"path": "src/a.py"}, "ok").call("read_file", {"files": [{"path": "b.py"}]}, "ok").end()
    assert place.only().summary.files == {"src/a.py": 1, "b.py": 1}
    assert place.only().summary.tools == {"edit_file": 1, "read_file": 1}


def test_a_log_that_grew_is_read_on_and_not_anew(place: Place) -> None:
    written = Written(place.root, "s1").prompt("one").reply("1").end()
    assert place.only().summary.turns == 1
    # Cut out of the log what was read already: only who reads it again could miss it.
    log, _ = SessionLog.open(written.directory, Clock())
    log.append(NameRecord(name="later"))
    log.close()
    data = written.log.path.read_bytes()
    blanked = data.replace(b'"text":"one"', b'"text":"ONE"')
    assert len(blanked) == len(data) and blanked != data
    written.log.path.write_bytes(blanked)
    session = place.only()
    assert (session.name, session.summary.title) == ("later", "one")


def test_a_log_that_was_replaced_is_read_anew(place: Place) -> None:
    written = Written(place.root, "s1").prompt("one").reply("1").end()
    assert place.only().summary.title == "one"
    place.root.joinpath("other").mkdir()
    other = Written(place.root / "other", "s1").prompt("two").reply("2").prompt("three").reply("3").end()
    other.log.path.replace(written.log.path)
    assert (place.only().summary.title, place.only().summary.turns) == ("two", 2)


@pytest.mark.parametrize("damage", ["garbage", "wrong tables", "other version", "wrong entry"])
def test_a_damaged_index_is_made_anew(place: Place, damage: str) -> None:
    Written(place.root, "s1").prompt("one").end()
    place.sessions()
    if damage == "garbage":
        place.index.write_bytes(b"no database at all " * 500)
    else:
        with sqlite3.connect(place.index) as index:
            if damage == "wrong tables":
                index.execute("DROP TABLE session")
            elif damage == "other version":
                index.execute("PRAGMA user_version=999")
            else:
                index.execute("UPDATE session SET entry = 'nonsense'")
        index.close()
    assert place.only().summary.title == "one"
    assert len(place.notices) == (0 if damage == "wrong entry" else 1)
    assert place.only().summary.title == "one"
    assert len(place.notices) <= 1


def test_an_index_that_cannot_be_written_is_no_reason_to_fail(place: Place) -> None:
    Written(place.root, "s1").prompt("one").end()
    place.user.mkdir()
    (place.user / "index").write_text("a file in the way")
    assert place.only().summary.title == "one"
    assert "the logs are read instead" in place.notices[0]


def test_an_index_that_another_process_writes_is_waited_for_and_then_left_out(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robota.log.derived_file.BUSY_SECONDS", 0.05)
    Written(place.root, "s1").prompt("one").end()
    place.sessions()
    Written(place.root, "s2").prompt("two").end()
    with sqlite3.connect(place.index, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        assert {each.summary.title for each in place.sessions()} == {"one", "two"}
        assert "locked" in place.notices[0]
        other.execute("ROLLBACK")
    other.close()


def test_sessions_of_other_projects_are_known_by_what_was_noted(place: Place, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    own = Written(elsewhere, "e1").prompt("far").end()
    Written(place.root, "s1").prompt("near").end()
    assert {each.id for each in place.sessions(every=True)} == {"s1"}
    note_as_own(place.user, [own.directory])
    found = {each.id: each.is_own for each in place.sessions(every=True)}
    assert found == {"s1": False, "e1": True}
    assert [each.id for each in place.sessions()] == ["s1"]


def test_a_pending_ask_a_crash_and_a_failure_are_told_apart(place: Place) -> None:
    waiting = Written(place.root, "waiting").prompt("x")
    waiting.ask(ask="command", text="rm -r .")
    waiting.close()
    Written(place.root, "crashed").prompt("x").close()
    Written(place.root, "closed").prompt("x").end("interrupted")
    Written(place.root, "failed").prompt("x").end("given_up")
    states = {each.id: each.state for each in place.sessions()}
    assert states == {
        "waiting": "waiting",
        "crashed": "interrupted",
        "closed": "interrupted",
        "failed": "failed",
    }


def test_a_session_that_is_written_now_is_running(place: Place) -> None:
    written = Written(place.root, "s1").prompt("x")
    assert (place.only().is_live, place.only().state) == (True, "running")
    written.log.append(EndRecord(task_id=written.task_id, outcome="completed"))
    written.close()
    assert (place.only().is_live, place.only().state) == (False, "completed")


def test_a_directory_without_a_log_and_links_are_no_sessions(place: Place, tmp_path: Path) -> None:
    written = Written(place.root, "s1").prompt("x").end()
    sessions = written.directory.parent
    (sessions / "empty").mkdir()
    (sessions / "link").symlink_to(written.directory)
    (sessions / "linked-log").mkdir()
    (sessions / "linked-log" / "log.jsonl").symlink_to(written.log.path)
    assert [each.id for each in place.sessions()] == ["s1"]
