"""`robota sessions show|rename|delete|prune` as a user or a script runs them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from robota.log.record import Payload, record_kind
from robota.log.replay.reading import LogReading
from robota.log.snapshot_keeper import snapshot_path
from tests.cli.scripts import call, script, sessions
from tests.harness.cli import EXECUTABLE, Robota, clean_environment
from tests.log.catalogue.logs import Written


@record_kind("laterKind")
class FutureRecord(Payload, frozen=True, kw_only=True):
    """A kind of record that the command does not know."""

    what: str


@pytest.fixture
def session(robota: Robota) -> Path:
    """A session in which a file was written."""
    script(
        robota,
        {"reasoning": "Hm.", "text": "I write.", "calls": [call("write_to_file", path="a.txt", content="one\n")]},
        {"text": "Done \x1b[2J."},
    )
    assert robota("-p", "Write a file", "--permission-mode", "bypassPermissions").code == 0
    return sessions(robota)[0]


def test_a_conversation_is_shown_whole(robota: Robota, session: Path) -> None:
    shown = robota("sessions", "show", session.name[:13]).stdout
    in_order = ["> Write a file", "Hm.", "I write.", "* Write a.txt", "+one", "Done ‹U+001B›[2J."]
    places = [shown.index(text) for text in in_order]
    assert places == sorted(places)
    entries = json.loads(robota("sessions", "show", "write a", "--json").stdout)["entries"]
    assert [each["kind"] for each in entries] == ["prompt", "thought", "reply", "call", "reply"]
    assert (entries[3]["status"], entries[3]["input"]["path"]) == ("success", "a.txt")
    last = robota("sessions", "show", session.name, "--last", "1").stdout
    assert "Done" in last and "I write." not in last


def test_a_new_name_is_in_the_log_and_finds_the_session(robota: Robota, session: Path) -> None:
    assert robota("sessions", "rename", session.name, "parser \x1b[31mwork").code == 0
    assert "parser [31mwork" in robota("sessions", "list").stdout
    assert robota("sessions", "show", "PARSER [31mwork").code == 0
    assert robota("sessions", "verify", session.name).code == 0
    assert json.loads(robota("sessions", "rename", session.name, "", "--json").stdout)["name"] is None
    assert "Write a file" in robota("sessions", "list").stdout


def test_a_name_that_several_sessions_have_is_refused_with_their_ids(robota: Robota) -> None:
    script(robota, {"text": "one"})
    for _ in range(2):
        robota("-p", "x", "--name", "twin")
    finished = robota("sessions", "show", "twin")
    assert finished.code == 2
    assert all(directory.name in finished.stderr for directory in sessions(robota))


def test_deleting_is_moving_to_the_trash_and_can_be_taken_back(robota: Robota, session: Path) -> None:
    before = (session / "log.jsonl").read_bytes()
    assert robota("sessions", "delete", session.name).code == 0
    assert not session.exists()
    assert robota("sessions", "list").stdout.startswith("There are no sessions")
    assert robota("sessions", "delete", "--undo", session.name[:8]).code == 0
    assert (session / "log.jsonl").read_bytes() == before
    assert robota("sessions", "verify", session.name).code == 0


def test_nothing_of_a_deleted_or_vanished_session_stays_in_a_snapshot(robota: Robota, session: Path) -> None:
    user = robota.home / ".robota"
    snapshots = user / "snapshots"
    log = session / "log.jsonl"

    def make_snapshot() -> None:
        LogReading(snapshot_path(user, session), growth=1).read(log)
        assert len(list(snapshots.iterdir())) == 1

    make_snapshot()
    assert robota("sessions", "delete", session.name).code == 0
    assert list(snapshots.iterdir()) == []
    robota("sessions", "delete", "--undo", session.name)
    make_snapshot()
    robota("sessions", "prune")
    assert len(list(snapshots.iterdir())) == 1
    shutil.rmtree(session)
    robota("sessions", "prune")
    assert list(snapshots.iterdir()) == []


def test_only_prune_removes_and_only_what_is_old_enough(robota: Robota, session: Path) -> None:
    robota("sessions", "delete", session.name)
    assert json.loads(robota("sessions", "prune", "--older-than", "1h", "--json").stdout) == []
    assert json.loads(robota("sessions", "prune", "--dry-run", "--json").stdout)[0]["id"] == session.name
    assert "removed" in robota("sessions", "prune").stdout
    assert robota("sessions", "delete", "--undo", session.name).code == 3
    assert list(robota.workspace.rglob("log.jsonl")) == []
    finished = robota("sessions", "prune", "--older-than", "soon")
    assert finished.code == 1 and "30d" in finished.stderr


def test_a_session_that_runs_is_neither_deleted_nor_renamed(robota: Robota) -> None:
    written = Written(robota.workspace, "live-one").prompt("x")
    for arguments in (("delete", "live-one"), ("rename", "live-one", "other")):
        finished = robota("sessions", *arguments)
        assert finished.code == 1 and "is running" in finished.stderr
    written.end()
    assert robota("sessions", "delete", "live-one").code == 0


def test_a_session_that_a_repository_brought_is_named_as_such(robota: Robota) -> None:
    Written(robota.workspace, "planted").prompt("trust me").end()
    assert "(not from here) trust me" in robota("sessions", "list").stdout
    assert "was not written on this machine" in robota("sessions", "show", "planted").stderr
    robota("sessions", "rename", "planted", "mine")
    assert "(not from here) mine" in robota("sessions", "list").stdout


def test_a_trash_that_is_a_link_is_not_followed(robota: Robota, session: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "1-abc").mkdir(parents=True)
    (session.parent / ".trash").symlink_to(outside)
    assert robota("sessions", "delete", session.name).code == 1
    assert session.is_dir()
    robota("sessions", "prune")
    assert (outside / "1-abc").is_dir()


def test_a_directory_without_a_log_is_named_and_can_be_deleted(robota: Robota, session: Path) -> None:
    empty = session.parent / "no-log"
    empty.mkdir()
    assert f"There is no log in {empty}" in robota("sessions", "list").stdout
    assert robota("sessions", "delete", "no-log").code == 0
    assert not empty.exists()


def test_what_a_killed_import_left_is_pruned_when_it_is_old(robota: Robota, session: Path) -> None:
    for name in (".new-old", ".new-young"):
        (session.parent / name).mkdir()
    os.utime(session.parent / ".new-old", (1, 1))
    robota("sessions", "prune")
    assert {path.name for path in session.parent.glob(".new-*")} == {".new-young"}
    assert session.is_dir()


def test_a_log_of_a_newer_version_is_read_and_not_written(robota: Robota) -> None:
    written = Written(robota.workspace, "newer", version="9.1.0").prompt("from the future").reply("Hello.")
    written.log.append(FutureRecord(what="a hologram"))
    written.end()
    before = written.log.path.read_bytes()
    assert "from the future" in robota("sessions", "list").stdout
    assert "Hello." in robota("sessions", "show", "newer").stdout
    assert "newer" in robota("sessions", "search", "future").stdout
    assert "Hello." in robota("sessions", "export", "newer").stdout
    finished = robota("sessions", "rename", "newer", "older")
    assert finished.code == 1 and "9.1.0" in finished.stderr
    assert written.log.path.read_bytes() == before


def test_an_index_in_a_project_is_never_read(robota: Robota, session: Path) -> None:
    robota("sessions", "list")
    planted = robota.workspace / ".robota" / "index"
    shutil.copytree(robota.home / ".robota" / "index", planted)
    shutil.rmtree(robota.home / ".robota" / "index")
    before = {path.name: path.read_bytes() for path in planted.iterdir()}
    assert "Write a file" in robota("sessions", "list").stdout
    assert {path.name: path.read_bytes() for path in planted.iterdir()} == before


def test_a_name_is_kept_as_it_can_be_typed_again(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    assert robota("-p", "go", "-n", "red \x1b[31m\nname\u202e ", "--session-id", "s").code == 0
    [listed] = json.loads(robota("sessions", "list", "--json").stdout)
    assert listed["name"] == "red [31m name"
    assert robota("sessions", "show", "red [31m name").code == 0


def test_a_reader_that_has_gone_away_ends_it_quietly(robota: Robota) -> None:
    """Also where it is started as a module."""
    Written(robota.workspace, "s").prompt("go").reply("yes").end()
    for command in ([str(EXECUTABLE)], [sys.executable, "-m", "robota"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [*command, "sessions", "list"],
            cwd=robota.workspace,
            env=clean_environment(robota.home),
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
        os.close(writer)
        assert (done.returncode, done.stderr) == (141, b"")
