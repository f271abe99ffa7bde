"""A log into which somebody put millions of line breaks: reading it costs no more than reading one of Robota."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from robota.log.catalogue.catalogue import glance_at
from robota.log.chain.growth import LogPosition, last_records, records_since
from robota.log.chain.reader import LOG_NAME, load
from tests.log.catalogue.logs import Written


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of some length, as Robota writes it."""
    session = Written(tmp_path, "s")
    for number in range(200):
        session.prompt(f"prompt {number}").reply("An answer.")
    return session.close().directory / LOG_NAME


def calls_of(read: Callable[[], object]) -> int:
    """How many functions are called."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        read()
    finally:
        sys.setprofile(None)
    return count


READERS: dict[str, Callable[[Path], object]] = {
    "all": load,
    "new ones": lambda path: list(records_since(path, LogPosition())),
    "the last ones": lambda path: last_records(path, 1 << 20),
    "a glance": glance_at,
}


@pytest.mark.parametrize("line", [b"\n", b"{}\n", b"x" * 70 + b"\n"], ids=["empty", "objects", "words"])
@pytest.mark.parametrize("reader", READERS)
def test_short_lines_cost_no_more_than_records(log: Path, tmp_path: Path, reader: str, line: bytes) -> None:
    planted = tmp_path / "planted.jsonl"
    planted.write_bytes((line * log.stat().st_size)[: log.stat().st_size])
    read = READERS[reader]
    assert calls_of(lambda: read(planted)) < calls_of(lambda: read(log))


def test_records_between_planted_lines_are_read_and_the_lines_are_named(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join((*lines[:3], b"\n" * 500, *lines[3:6], b"{}\n" * 20_000, *lines[6:])))
    loaded = load(log)
    assert len(loaded.records) == len(lines) and loaded.length == loaded.good_length == log.stat().st_size
    assert [problem.line for problem in loaded.problems] == [*range(4, 504), *range(507, 1007)]
    assert loaded.good_line == len(lines) + 20_500
    ends = [grown.position for grown in records_since(log, LogPosition())]
    assert len(ends) == len(lines) and ends[-1] == LogPosition(log.stat().st_size, loaded.head_hash)
