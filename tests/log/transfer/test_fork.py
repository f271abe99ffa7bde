"""A fork begins with what another session held, and leaves that one alone."""

import json
import tracemalloc
from pathlib import Path

import pytest

from robota.cli.main import main
from robota.log.artifacts import read_artifact
from robota.log.chain.reader import load
from robota.log.chain.verify import verify
from robota.log.kinds.rewinds import RewindRecord
from robota.log.replay.session import replay
from robota.log.transfer.draft import DraftSession
from robota.log.transfer.fork import fork_of, write_fork
from robota.secrets.redaction import Redactor
from tests.harness.cli import EXECUTABLE, Robota, clean_environment, run, with_room_for
from tests.log.catalogue.logs import Written


@pytest.fixture
def session(home: Path, workspace: Path) -> Written:
    """Three turns, and an output that is kept beside the log."""
    written = Written(workspace, "parent", name="old").prompt("one").reply("1").prompt("two").reply("2")
    written.log.keep(b"a long output")
    return written.prompt("three").reply("3").end()


def fork(workspace: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> Path:
    assert main(["sessions", "fork", "parent", "--cwd", str(workspace), "--json", *arguments]) == 0
    return Path(json.loads(capsys.readouterr().out)["path"])


def texts(directory: Path) -> list[str]:
    session = replay(load(directory / "log.jsonl").records)
    assert session.current is not None
    return [row.text or "" for row in session.current.messages if row.say in ("text", "user_feedback")]


def test_a_fork_is_a_session_of_its_own(session: Written, workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = session.log.path.read_bytes()
    directory = fork(workspace, capsys, "--session-id", "child", "--name", "new")
    assert texts(directory) == ["one", "1", "two", "2", "three", "3"]
    replayed = replay(load(directory / "log.jsonl").records)
    assert replayed.header is not None and replayed.header.id == "child"
    assert verify(directory / "log.jsonl").broken is None
    assert read_artifact(directory / "artifacts", next((session.directory / "artifacts").iterdir()).name)
    assert session.log.path.read_bytes() == before
    main(["sessions", "list", "--cwd", str(workspace), "--json"])
    child = next(each for each in json.loads(capsys.readouterr().out) if each["id"] == "child")
    assert (child["origin"]["source"], child["origin"]["sessionId"]) == ("fork", "parent")
    assert (child["name"], child["isOwn"]) == ("new", True)


def test_the_name_stays_with_the_session_that_was_forked(
    session: Written, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fork(workspace, capsys, "--session-id", "child")
    main(["sessions", "list", "--cwd", str(workspace), "--json"])
    listed = {each["id"]: each["name"] for each in json.loads(capsys.readouterr().out)}
    assert listed == {"parent": "old", "child": None}
    assert main(["sessions", "show", "old", "--cwd", str(workspace)]) == 0


@pytest.mark.parametrize(("turn", "expected"), [("1", ["one", "1"]), ("2", ["one", "1", "two", "2"])])
def test_a_fork_ends_with_the_turn_that_is_named(
    session: Written, workspace: Path, capsys: pytest.CaptureFixture[str], turn: str, expected: list[str]
) -> None:
    assert texts(fork(workspace, capsys, "--at", turn)) == expected


def test_a_turn_that_is_not_there_and_an_id_that_is_taken(
    session: Written, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sessions", "fork", "parent", "--at", "9", "--cwd", str(workspace)]) == 3
    assert "no turn 9" in capsys.readouterr().err
    assert main(["sessions", "fork", "parent", "--session-id", "parent", "--cwd", str(workspace)]) == 1
    assert [path.name for path in session.directory.parent.iterdir() if path.is_dir()] == ["parent"]


def test_a_long_session_is_not_held_in_memory_while_it_is_copied(home: Path, workspace: Path) -> None:
    written = Written(workspace, "long")
    for number in range(200):
        written.prompt(f"{number} " + "x" * 20_000)
    size = written.end().log.path.stat().st_size
    draft = DraftSession(workspace, home / ".robota", "copy", Redactor())
    tracemalloc.start()
    try:
        with draft:
            write_fork(draft, fork_of(written.directory, 150), "copy", None, 1)
            directory = draft.finish()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(texts(directory)) == 150
    # Prompts are what there is to go back to, and these are all prompts; each stands in the log twice.
    assert peak < size * 0.7


def test_a_session_that_ends_without_the_end_of_a_line_is_copied_whole(
    session: Written, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = session.log.path
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    directory = fork(workspace, capsys)
    copied = [record.kind for record in load(directory / "log.jsonl").records]
    assert copied == [*(record.kind for record in load(path).records), "origin", "name"]


def test_a_fork_has_one_branch_the_present_one_or_the_one_that_was_left(
    home: Path, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = Written(workspace, "parent").prompt("one").reply("1")
    stood = written.log.last_seq
    written.prompt("two").reply("2")
    written.log.append(RewindRecord(rewind_id="r", action="restore", to=stood))
    written.prompt("instead").reply("3").end()
    assert texts(fork(workspace, capsys)) == ["one", "1", "instead", "3"]
    assert texts(fork(workspace, capsys, "--at", "2")) == ["one", "1", "two", "2"]
    assert texts(fork(workspace, capsys, "--at", "3")) == ["one", "1", "instead", "3"]


def test_a_disk_that_is_full_in_the_middle_is_not_taken_for_a_log_that_cannot_be_read(robota: Robota) -> None:
    written = Written(robota.workspace, "parent")
    for number in range(20):
        written.prompt(f"{number} " + "x" * 20_000)
    written.end()
    command = with_room_for(100, str(EXECUTABLE), "sessions", "fork", "parent")
    done = run(command, robota.workspace, clean_environment(robota.home), "")
    assert done.code == 1 and "The session could not be written: File too large. Nothing was changed" in done.stderr
    assert [path.name for path in (robota.workspace / ".robota/sessions").iterdir() if path.is_dir()] == ["parent"]
