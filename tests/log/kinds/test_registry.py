"""A room above the log adds kinds of its own; a program that does not know them still reads and keeps the log."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from robota.log.chain.reader import LOG_NAME, load
from robota.log.chain.verify import verify
from robota.log.chain.writer import SessionLog
from robota.log.kinds.rewinds import RewindRecord
from robota.log.kinds.session import TaskRecord
from robota.log.record import Payload, TaskPayload, kind_of, payload_of, record_kind, registered_kinds
from robota.log.replay.reading import LogReading
from robota.log.replay.session import replay

# Another program, which knows a kind that this one has never heard of.
WRITER = """
import sys
from pathlib import Path
from robota.log.chain.writer import SessionLog
from robota.log.record import Payload, record_kind
from robota.log.kinds.session import TaskRecord

@record_kind("lease")
class LeaseRecord(Payload, frozen=True, kw_only=True):
    path: str
    holders: dict[str, int]

log = SessionLog.create(Path(sys.argv[1]), lambda: 1)
log.append(TaskRecord(task_id="t1", mode="code"))
log.append(LeaseRecord(path="a.py", holders={"b": 2, "a": 1}))
log.append(TaskRecord(task_id="t1", mode="plan"))
"""


@record_kind("test.note")
class NoteRecord(Payload, frozen=True, kw_only=True):
    words: str


@pytest.fixture
def foreign_log(tmp_path: Path) -> Path:
    directory = tmp_path / "session"
    subprocess.run([sys.executable, "-c", WRITER, str(directory)], check=True)
    return directory


def test_a_registered_kind_is_written_and_read_as_its_type(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path / "session", lambda: 1)
    log.append(NoteRecord(words="half a character: \ud83d"))
    log.close()
    (record,) = load(tmp_path / "session" / LOG_NAME).records
    assert record.kind == "test.note"
    assert payload_of(record) == NoteRecord(words="half a character: \ufffd")


def test_a_kind_belongs_to_one_type() -> None:
    with pytest.raises(ValueError, match="TaskRecord"):
        record_kind("task")(NoteRecord)
    assert registered_kinds()["task"] is TaskRecord
    assert kind_of(NoteRecord(words="")) == "test.note"


def test_records_of_an_unknown_kind_are_read_and_verified_but_mean_nothing(foreign_log: Path) -> None:
    loaded = load(foreign_log / LOG_NAME)
    assert [record.kind for record in loaded.records] == ["task", "lease", "task"]
    assert loaded.problems == ()
    assert verify(foreign_log / LOG_NAME).broken is None
    assert payload_of(loaded.records[1]) is None
    session = replay(loaded.records)
    assert session.tasks["t1"].mode == "plan"


def test_records_of_an_unknown_kind_stay_byte_for_byte_when_the_log_goes_on(foreign_log: Path) -> None:
    before = (foreign_log / LOG_NAME).read_bytes()
    log, _ = SessionLog.open(foreign_log, lambda: 1)
    log.append(TaskRecord(task_id="t1", mode="code"))
    log.close()
    after = (foreign_log / LOG_NAME).read_bytes()
    assert after.startswith(before)
    assert verify(foreign_log / LOG_NAME).records == 4


def test_the_record_kind_of_the_contributing_page_needs_one_file(tmp_path: Path) -> None:
    """It is part of the state of its task, survives a snapshot, and a rewind undoes it."""
    page = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text()
    example = re.search(r"## Adding a record kind.*?```python\n(.*?)```", page, re.DOTALL)
    assert example is not None
    names: dict[str, Any] = {"__name__": "lease_record"}
    exec(example[1], names)
    lease: type[TaskPayload] = names["LeaseRecord"]
    log, snapshot = SessionLog.create(tmp_path / "session", lambda: 1), tmp_path / "snapshot"

    def resumed() -> TaskPayload | None:
        """The newest lease after resuming, from the snapshot if there is one."""
        reading = LogReading(snapshot, growth=1)
        reading.read(log.path)
        return reading.session().tasks["t"].newest.get(lease)

    log.append(TaskRecord(task_id="t", mode="code"))
    for path in ("a.py", "b.py"):
        log.append(msgspec.convert({"taskId": "t", "path": path}, lease))
    assert resumed() == msgspec.convert({"taskId": "t", "path": "b.py"}, lease)
    log.append(TaskRecord(task_id="t", mode="plan"))
    assert resumed() == msgspec.convert({"taskId": "t", "path": "b.py"}, lease)
    log.append(RewindRecord(rewind_id="r", action="restore", to=2))
    assert resumed() == msgspec.convert({"taskId": "t", "path": "a.py"}, lease)
    log.close()
