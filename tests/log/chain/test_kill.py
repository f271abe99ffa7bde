"""A writer that is killed at any moment loses nothing that it was told is written."""

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from robota.log.chain.reader import load
from robota.log.chain.verify import verify
from robota.log.chain.writer import SessionLog

WRITER = """
import os, sys
from pathlib import Path
from robota.log.kinds.calls import ToolStartRecord
from robota.log.chain.writer import SessionLog

log = SessionLog.create(Path(sys.argv[1]), lambda: 1)
largest = int(sys.argv[2])
for number in range(100_000):
    body = "x" * (number * 1_600_033 % largest)
    seq = log.append(ToolStartRecord(task_id="t", call_id=str(number), tool="write", input={"body": body})).seq
    os.write(1, b"%d\\n" % seq)
"""


@contextmanager
def running_writer(directory: Path, largest: int) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", WRITER, str(directory), str(largest)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as writer:
        yield writer


def kill(writer: subprocess.Popen[bytes]) -> int:
    """Kill it at once. Returns how many records it had reported and nobody had read yet."""
    writer.send_signal(signal.SIGKILL)
    assert writer.stdout is not None
    rest = writer.stdout.read() or b""
    assert writer.wait() == -signal.SIGKILL
    return rest.count(b"\n")


def check_complete_and_resumable(directory: Path, acknowledged: int) -> None:
    records = load(directory / "log.jsonl").records
    assert len(records) >= acknowledged
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    log, loaded = SessionLog.open(directory, lambda: 1)
    log.close()
    assert loaded.records == records
    report = verify(log.path)
    assert report.broken is None
    assert report.records >= len(records)


@pytest.mark.parametrize("reports", range(0, 40, 5))
def test_killed_after_any_record_every_reported_one_is_there(tmp_path: Path, reports: int) -> None:
    with running_writer(tmp_path, largest=300_000) as writer:
        assert writer.stdout is not None
        seen = 0
        while seen <= reports:
            seen += writer.stdout.read(64).count(b"\n")
        seen += kill(writer)
    check_complete_and_resumable(tmp_path, seen)


@pytest.mark.parametrize("size", range(1_000_000, 10_000_000, 1_100_000))
def test_killed_in_the_middle_of_a_record_the_rest_is_there(size: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        log = directory / "log.jsonl"
        with running_writer(directory, largest=4_000_037) as writer:
            assert writer.stdout is not None
            seen = writer.stdout.read(64).count(b"\n")
            # The file grows page by page while a large record is written: this is the middle of one.
            while writer.poll() is None and log.stat().st_size < size:
                pass
            seen += kill(writer)
        check_complete_and_resumable(directory, seen)
