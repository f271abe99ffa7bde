"""`robota sessions` as a user or a script runs it."""

import json
import os
from pathlib import Path

import pytest

from robota.cli.main import main
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.writer import SessionLog
from robota.log.kinds.session import EndRecord
from robota.log.store import session_directory
from tests.cli.scripts import script, sessions
from tests.harness.cli import Robota


@pytest.fixture
def log_path(tmp_path: Path) -> Path:
    log = SessionLog.create(session_directory(tmp_path, "abc-123"), lambda: 1)
    for number in range(3):
        log.append(EndRecord(task_id=f"task {number}", outcome="done"))
    log.close()
    return log.path


def test_a_sound_log_verifies_by_id_prefix_and_path(
    log_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("abc-123", "abc", str(log_path), str(log_path.parent), os.path.relpath(log_path, tmp_path)):
        assert main(["sessions", "verify", name, "--cwd", str(tmp_path)]) == 0
        assert capsys.readouterr().out.splitlines()[1:3] == ["records  3", "chain    ok"]


def test_a_changed_record_is_named_and_the_file_is_left_alone(
    log_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = log_path.read_bytes().replace(b"task 1", b"task X")
    log_path.write_bytes(changed)
    assert main(["sessions", "verify", "abc", "--cwd", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "line     2\nseq      2\nreason   bad hash: the record was changed after it was written\n" in out
    assert "Nothing was changed." in out
    assert log_path.read_bytes() == changed


def test_a_script_gets_the_same_as_json(log_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log_path.write_bytes(log_path.read_bytes()[:-5])
    assert main(["sessions", "verify", "abc", "--json", "--cwd", str(tmp_path)]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["records"]) == (False, 2)
    assert {key: report["broken"][key] for key in ("line", "seq", "reason")} == {
        "line": 3,
        "seq": 3,
        "reason": "torn tail",
    }


def test_without_a_session_the_newest_of_this_machine_is_meant(robota: Robota) -> None:
    nothing = robota("sessions", "verify")
    assert nothing.code == 3 and "Name a session" in nothing.stderr
    script(robota, {"text": "one"}, {"text": "two"})
    for _ in range(2):
        assert robota("-p", "go").code == 0
    newest = sessions(robota)[-1]
    assert json.loads(robota("sessions", "verify", "--json").stdout)["path"] == str(newest / LOG_NAME)


def test_a_session_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "directory").mkdir()
    for name in ("missing", "directory", "/nowhere/log.jsonl"):
        assert main(["sessions", "verify", name, "--cwd", str(tmp_path)]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "There is no session 'missing'" in captured.err


def test_wrong_usage(log_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    SessionLog.create(session_directory(tmp_path, "abc-456"), lambda: 1).close()
    assert main(["sessions", "verify", "abc", "--cwd", str(tmp_path)]) == 2
    assert "2 sessions begin with 'abc'" in capsys.readouterr().err
    for arguments in ([], ["rename", "abc"], ["burn", "abc"]):
        with pytest.raises(SystemExit) as stop:
            main(["sessions", *arguments])
        assert stop.value.code == 2


def test_the_list(log_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "list", "--cwd", str(tmp_path)]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split("  ")[0] == "ID"
    assert row.startswith("abc-123  ")
    assert main(["sessions", "list", "--json", "--cwd", str(tmp_path)]) == 0
    assert [entry["id"] for entry in json.loads(capsys.readouterr().out)] == ["abc-123"]


def test_an_empty_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "list", "--cwd", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"There are no sessions in {tmp_path}.\n"
