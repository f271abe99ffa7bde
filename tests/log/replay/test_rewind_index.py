"""The rewind history of a log that is read on from where it was read last: the same as from all records at once."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.log.chain.growth import LogPosition, records_since
from robota.log.chain.reader import LOG_NAME
from robota.log.replay.rewind_points import RewindHistory, read_rewind_history, rewind_history
from tests.log.catalogue.logs import Written
from tests.log.replay.test_branches import back, checkpoint, talked
from tests.log.replay.test_reading import entries, lines_of

GOING_BACK = (
    *talked(),
    back(6, "one"),
    back(14, "two", "undo"),
    back(16, "three", "redo"),
    checkpoint("c9", "call-9"),
    back(2, "four"),
)
steps = entries | st.sampled_from(GOING_BACK).map(lambda payload: _entry(payload))


def _entry(payload: object) -> tuple[str, bytes]:
    from robota.log.record import Payload, kind_of

    assert isinstance(payload, Payload)
    return kind_of(payload), payload.to_json()


def whole(log: Path) -> RewindHistory:
    return rewind_history(grown.record for grown in records_since(log, LogPosition()))


@given(st.lists(steps, max_size=24), st.lists(st.integers(1, 6), min_size=1, max_size=6))
def test_a_log_that_is_read_on_again_and_again_tells_the_same(
    sealed: list[tuple[str, bytes]], sizes: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        log, index = Path(name) / LOG_NAME, Path(name) / "index"
        log.touch()
        lines = lines_of(sealed)
        while lines:
            for size in sizes:
                with log.open("ab") as stream:
                    stream.writelines(lines[:size])
                lines = lines[size:]
                assert read_rewind_history(log, index, growth=0) == whole(log)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    written = Written(tmp_path, "s").prompt("first").reply("1").prompt("second").reply("2").end()
    return written.directory / LOG_NAME


def test_what_was_read_is_not_read_again(log: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    before = read_rewind_history(log, index, growth=0)
    assert [point.prompt for point in before.points] == ["first", "second"]
    content = log.read_bytes()
    log.write_bytes(b"x" * (len(content) // 2) + content[len(content) // 2 :])
    assert read_rewind_history(log, index, growth=0) == before


@pytest.mark.parametrize("damage", [b"", b"{}\n{}", b"\xff\xff"])
def test_an_index_that_is_damaged_is_made_anew(log: Path, tmp_path: Path, damage: bytes) -> None:
    index = tmp_path / "index"
    expected = read_rewind_history(log, index, growth=0)
    sound = index.read_bytes()
    for broken in (damage, sound.replace(b'"second"', b'"planted"'), sound[:-5]):
        index.write_bytes(broken)
        assert read_rewind_history(log, index, growth=0) == expected
        assert index.read_bytes() == sound


def test_an_index_of_another_log_does_not_count(log: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    read_rewind_history(log, index, growth=0)
    other = Written(tmp_path, "other").prompt("another one").reply("1" * 5_000).end().directory / LOG_NAME
    assert [point.prompt for point in read_rewind_history(other, index).points] == ["another one"]


def test_a_short_log_gets_none_and_a_place_that_cannot_be_written_does_not_matter(log: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    assert read_rewind_history(log, index).points and not index.exists()
    index.mkdir()
    (index / "in the way").touch()
    assert len(read_rewind_history(log, index, growth=0).points) == 2
