"""What a log has gained, read from any place in it."""

from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

import pytest

from robota.log.chain.growth import LogPosition, continues, last_records, position_before_end, records_since
from robota.log.chain.writer import SessionLog
from robota.log.kinds.session import EndRecord
from robota.log.record import Record

RECORDS = 6


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of some records of different lengths."""
    written = SessionLog.create(tmp_path / "session", lambda: 1_000)
    for number in range(RECORDS):
        written.append(EndRecord(task_id="t" * 7 * number, outcome="done"))
    written.close()
    return written.path


def offsets(log: Path) -> list[int]:
    """Where each line begins, and where the last one ends."""
    return [0, *accumulate(map(len, log.read_bytes().splitlines(keepends=True)))]


def numbers(records: Iterable[Record]) -> list[int]:
    return [record.seq for record in records]


def since(log: Path, position: LogPosition, **most: int) -> list[int]:
    return numbers(grown.record for grown in records_since(log, position, **most))


def test_reading_goes_on_behind_every_record(log: Path) -> None:
    for grown in records_since(log, LogPosition()):
        assert continues(log, grown.position)
        assert since(log, grown.position) == list(range(grown.record.seq + 1, RECORDS + 1))


def test_a_log_that_changed_before_the_position_is_not_read_on(log: Path) -> None:
    *_, last = records_since(log, LogPosition())
    whole = log.read_bytes()
    for other in (whole[:-2], b"x" + whole, whole[:-6] + b"0000" + whole[-2:], b""):
        log.write_bytes(other)
        assert not continues(log, last.position)
        assert continues(log, LogPosition())
    assert not continues(log, LogPosition(5, last.record.hash))


def test_a_line_that_is_not_finished_is_left_for_later_and_damage_is_passed_over(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([lines[0], b"damage\n", lines[2], lines[3][:-1]]))
    *_, last = records_since(log, LogPosition())
    assert last.record.seq == 3
    with log.open("ab") as stream:
        stream.write(b"\n" + lines[4])
    assert since(log, last.position) == [4, 5]


def test_a_limited_reading_takes_the_records_that_begin_within_its_bytes(log: Path) -> None:
    for number, offset in enumerate(offsets(log)[:-1]):
        assert since(log, LogPosition(), max_bytes=offset) == list(range(1, number + 1))
        assert since(log, LogPosition(), max_bytes=offset + 1) == list(range(1, number + 2))


def test_the_last_bytes_hold_the_records_that_begin_in_them(log: Path) -> None:
    whole = offsets(log)
    for number, offset in enumerate(whole[:-1], start=1):
        size = whole[-1] - offset
        assert numbers(last_records(log, size)) == list(range(number, RECORDS + 1))
        assert numbers(last_records(log, size - 1)) == list(range(number + 1, RECORDS + 1))
        assert numbers(last_records(log, 10 * whole[-1], offset)) == list(range(number, RECORDS + 1))
    assert numbers(last_records(log, 10 * whole[-1])) == list(range(1, RECORDS + 1))
    assert last_records(log, 10 * whole[-1], whole[-1]) == []


def test_from_a_position_before_the_end_follow_at_most_so_many_bytes(log: Path) -> None:
    whole = offsets(log)
    for number, offset in enumerate(whole[:-1], start=1):
        size = whole[-1] - offset
        first = 1 if offset == 0 else number + 1
        assert since(log, position_before_end(log, size)) == list(range(first, RECORDS + 1))
        assert since(log, position_before_end(log, size - 1)) == list(range(number + 1, RECORDS + 1))
    assert position_before_end(log, 10 * whole[-1]) == LogPosition()
