"""The newest record is noted outside the workspace, so that a chain which is sound in itself can still be found out."""

import json
from pathlib import Path

import pytest

from robota.cli.main import main
from robota.log.chain.head import HEADS, ChainHead, note_head, note_names, noted_directories, noted_head
from robota.log.chain.verify import verify
from robota.log.chain.writer import SessionLog
from robota.log.kinds.session import NameRecord
from robota.log.record import seal
from tests.engine.stage import Stage, play


@pytest.fixture
def log(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of a session that has ended."""
    monkeypatch.setenv("ROBOTA_HOME", str(workspace.parent / "robota-home"))
    found: list[Path] = []

    async def story(stage: Stage) -> None:
        await stage.start("go")
        await stage.until_ask("completion_result")
        found.append(stage.opened.log.path)

    play(workspace, [{"text": "done"}], story)
    return found[0]


def test_a_whole_log_holds_the_noted_record(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "verify", str(log), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["notedSeq"] == report["records"]


def test_a_session_is_known_as_one_of_this_machine_before_it_is_brought_to_disk(tmp_path: Path) -> None:
    """So a session that is killed in its first moments can be resumed, too."""
    head_file = tmp_path / "heads/s"
    log = SessionLog.create(tmp_path / "s", lambda: 1, head_file=head_file)
    log.append(NameRecord(name="a"))
    noted = noted_head(head_file)
    log.close()
    assert noted is not None and verify(log.path, noted).broken is None


def test_a_log_that_was_cut_at_its_end_is_found_out(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The remaining records are a valid chain."""
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-3]))
    assert main(["sessions", "verify", str(log)]) == 1
    assert "cut off" in capsys.readouterr().out


def test_a_log_that_was_written_anew_is_found_out(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every hash is correct, but they are not those of the session."""
    forged, prev = b"", ""
    for seq, line in enumerate(log.read_bytes().splitlines(), start=1):
        record = json.loads(line)
        payload = json.dumps(record["payload"]).replace("go", "no").encode()
        sealed, prev = seal(seq, record["ts"], record["kind"], payload, prev)
        forged += sealed
    log.write_bytes(forged)
    assert main(["sessions", "verify", str(log)]) == 1
    assert "rewritten" in capsys.readouterr().out


def test_a_log_from_another_machine_says_what_cannot_be_known(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "copied.jsonl"
    elsewhere.write_bytes(log.read_bytes())
    assert main(["sessions", "verify", str(elsewhere)]) == 0
    assert "would not be noticed" in capsys.readouterr().out


def test_the_notes_of_this_machine_name_its_sessions_and_damaged_ones_are_passed_over(tmp_path: Path) -> None:
    assert noted_directories(tmp_path) == {} and note_names(tmp_path) == frozenset()
    notes = tmp_path / HEADS
    note_head(notes / "a", ChainHead(1, "0" * 64, "/a very long place that is noted first"))
    note_head(notes / "a", ChainHead(2, "1" * 64, "/a"))
    (notes / "b").write_text("no note")
    assert noted_head(notes / "a") == ChainHead(2, "1" * 64, "/a")
    assert noted_directories(tmp_path) == {"a": "/a"}
    assert note_names(tmp_path) == {"a", "b"}


def test_a_note_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "link", tmp_path / "file" / "note"):
        note_head(place, ChainHead(1, "0" * 64))
    assert (tmp_path / "target").read_text() == "precious"
