"""The chain as a reader meets it: whole, cut, flipped, with garbage in it."""

import tempfile
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robota.log.chain.growth import LogPosition, records_since
from robota.log.chain.reader import MAX_LINE_BYTES, Handling, Loaded, load
from robota.log.chain.verify import verify
from robota.log.chain.writer import SessionLog
from robota.log.errors import LogUnreadable
from robota.log.kinds.calls import AnswerRecord, ToolStartRecord
from robota.log.kinds.conversation import MessageRecord, TurnRecord
from robota.log.kinds.session import EndRecord
from robota.log.record import Payload, RecordFlaw, payload_of, seal
from robota.protocol.conversation import AssistantTurn, TextBlock, ToolResultBlock, ToolUseBlock, UserTurn
from robota.protocol.message import Message

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(), json_values, max_size=3)
unknown_fields = st.dictionaries(st.sampled_from(["future", "ünknown", "x-y"]), json_values, max_size=2)
messages = st.builds(
    Message,
    ts=st.integers(0, 2**53),
    type=st.sampled_from(["ask", "say", "sing"]),
    text=st.none() | st.text(),
    partial=st.none() | st.booleans(),
    extra=unknown_fields,
)
tool_uses = st.builds(ToolUseBlock, id=st.text(), name=st.text(), input=objects)
texts = st.builds(TextBlock, text=st.text())
results = st.builds(ToolResultBlock, tool_use_id=st.text(), content=st.text(), is_error=st.booleans())
turns = st.builds(AssistantTurn, content=st.lists(texts | tool_uses, max_size=3).map(tuple)) | st.builds(
    UserTurn, content=st.lists(texts | results, max_size=3).map(tuple)
)
payloads: st.SearchStrategy[Payload] = st.one_of(
    st.builds(MessageRecord, task_id=st.text(), message=messages),
    st.builds(TurnRecord, task_id=st.text(), turn=turns),
    st.builds(ToolStartRecord, task_id=st.text(), call_id=st.text(), tool=st.text(), input=objects),
    st.builds(
        AnswerRecord, task_id=st.text(), ts=st.integers(0, 2**53), response=st.text(), text=st.none() | st.text()
    ),
    st.builds(EndRecord, task_id=st.text(), outcome=st.text()),
)
logs = st.lists(payloads, min_size=1, max_size=6)


def written(directory: Path, entries: Sequence[Payload]) -> Path:
    log = SessionLog.create(directory, lambda: 1_000)
    for entry in entries:
        log.append(entry)
    log.close()
    return log.path


def loaded_from(data: bytes) -> Loaded:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "log.jsonl"
        path.write_bytes(data)
        return load(path)


def lines_of(entries: Sequence[Payload]) -> list[bytes]:
    with tempfile.TemporaryDirectory() as directory:
        return written(Path(directory), entries).read_bytes().splitlines(keepends=True)


def sound_log(count: int) -> list[bytes]:
    return lines_of([EndRecord(task_id=f"task {number}", outcome="done") for number in range(count)])


@given(logs)
def test_what_was_written_is_loaded_and_verifies(entries: list[Payload]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = written(Path(directory), entries)
        loaded, report = load(path), verify(path)
    assert [payload_of(record) for record in loaded.records] == entries
    assert loaded.problems == ()
    assert [record.seq for record in loaded.records] == list(range(1, len(entries) + 1))
    assert report.broken is None
    assert (report.records, report.head_hash) == (len(entries), loaded.head_hash)


@given(logs, st.data())
def test_a_log_cut_anywhere_keeps_every_complete_record(entries: list[Payload], data: st.DataObject) -> None:
    """Only the last line can be torn."""
    lines = lines_of(entries)
    whole = b"".join(lines)
    cut = data.draw(st.integers(0, len(whole)))
    loaded = loaded_from(whole[:cut])
    ends = [sum(map(len, lines[: place + 1])) for place in range(len(lines))]
    # A record that lacks nothing but its newline is complete.
    complete = sum(1 for end in ends if end - 1 <= cut)
    assert len(loaded.records) == complete
    assert bool(loaded.problems) == (loaded.good_length < cut)


@given(logs, st.data())
def test_a_flipped_bit_is_found_in_its_own_record(entries: list[Payload], data: st.DataObject) -> None:
    lines = lines_of(entries)
    whole = bytearray(b"".join(lines))
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged_line = whole[:place].count(b"\n") + 1
    whole[place] ^= 1 << data.draw(st.integers(0, 7))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "log.jsonl"
        path.write_bytes(whole)
        loaded, report = load(path), verify(path)
    assert report.broken is not None
    assert report.broken.line == report.broken.seq == damaged_line
    before = [record for record in loaded.records if record.seq < damaged_line]
    assert [payload_of(record) for record in before] == entries[: damaged_line - 1]


@given(logs, st.binary(max_size=200), st.data())
def test_garbage_anywhere_never_stops_loading(entries: list[Payload], garbage: bytes, data: st.DataObject) -> None:
    lines = lines_of(entries)
    whole = b"".join(lines)
    place = data.draw(st.integers(0, len(whole)))
    loaded = loaded_from(whole[:place] + garbage + whole[place:])
    untouched = whole[:place].count(b"\n")
    assert [payload_of(record) for record in loaded.records[:untouched]] == entries[:untouched]


@settings(max_examples=200)
@given(st.binary(max_size=400))
def test_a_file_that_is_no_log_loads_as_nothing(content: bytes) -> None:
    """An empty file is one of them."""
    loaded = loaded_from(content)
    assert loaded.records == ()
    assert bool(loaded.problems) == bool(content)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\n",
        b"\0" * 4096 + b"\n",
        b"\xff\xfe{\n",
        b'{"seq":1}\n',
        b"[" * 100_000 + b"\n",
        b'{"hash":"","payload":"\xff"}\n',
    ],
)
def test_a_bad_line_in_the_middle_is_skipped_and_named(garbage: bytes) -> None:
    lines = sound_log(3)
    loaded = loaded_from(b"".join([lines[0], garbage, *lines[1:]]))
    assert [record.seq for record in loaded.records] == [1, 2, 3]
    assert [(problem.line, problem.handling) for problem in loaded.problems] == [(2, Handling.SKIPPED)]
    assert "Line 2" in loaded.problems[0].text


def verified(tmp_path: Path, lines: Sequence[bytes]) -> tuple[int, int, RecordFlaw] | None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(lines))
    broken = verify(path).broken
    return None if broken is None else (broken.line, broken.seq, broken.flaw)


def test_verify_names_the_first_broken_record_and_why(tmp_path: Path) -> None:
    lines = sound_log(4)
    assert verified(tmp_path, lines) is None
    assert verified(tmp_path, [lines[0], *lines[2:]]) == (2, 3, RecordFlaw.WRONG_PREV)
    assert verified(tmp_path, [lines[0], lines[2], lines[1], lines[3]]) == (2, 3, RecordFlaw.WRONG_PREV)
    assert verified(tmp_path, [*lines[:2], *lines[1:]]) == (3, 2, RecordFlaw.WRONG_PREV)
    assert verified(tmp_path, [lines[0], lines[1].replace(b"done", b"lost"), *lines[2:]]) == (2, 2, RecordFlaw.BAD_HASH)
    assert verified(tmp_path, [lines[0], b"{}\n", *lines[1:]]) == (2, 2, RecordFlaw.BAD_JSON)
    assert verified(tmp_path, [*lines[:3], lines[3][:-9]]) == (4, 4, RecordFlaw.TORN_TAIL)
    assert verified(tmp_path, []) is None


def test_a_forged_number_with_a_correct_hash_is_found(tmp_path: Path) -> None:
    first, digest = seal(1, 1, "end", b"{}", "")
    second, _ = seal(3, 2, "end", b"{}", digest)
    assert verified(tmp_path, [first, second]) == (2, 3, RecordFlaw.WRONG_SEQ)


def test_a_removed_record_is_reported_and_the_rest_is_kept() -> None:
    lines = sound_log(3)
    loaded = loaded_from(lines[0] + lines[2])
    assert [record.seq for record in loaded.records] == [1, 3]
    assert [(p.line, p.flaw, p.handling) for p in loaded.problems] == [(2, RecordFlaw.WRONG_PREV, Handling.KEPT)]


def test_records_of_a_future_version_are_kept() -> None:
    future, digest = seal(1, 1, "hologram", b'{"depth":3}', "")
    loaded = loaded_from(future)
    assert loaded.problems == ()
    assert loaded.head_hash == digest
    assert [record.kind for record in loaded.records] == ["hologram"]
    assert payload_of(loaded.records[0]) is None


def test_a_file_that_cannot_be_read_is_a_clear_error(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path, Path("/dev/zero")):
        with pytest.raises(LogUnreadable, match=f"Cannot read the session log {path}.*Nothing was changed"):
            load(path)
        with pytest.raises(LogUnreadable):
            verify(path)


def test_a_line_without_end_fills_no_memory(tmp_path: Path) -> None:
    """A repository can bring one along; what stands behind it is read all the same."""
    ends = [EndRecord(task_id="t", outcome=text) for text in ("one", "two")]
    first, second = written(tmp_path / "log", ends).read_bytes().splitlines(keepends=True)
    path = tmp_path / "endless.jsonl"
    path.write_bytes(first)
    with path.open("r+b") as stream:
        stream.seek(3 * MAX_LINE_BYTES)
        stream.write(b"\n" + second)
    tracemalloc.start()
    try:
        loaded, report = load(path), verify(path)
        assert tracemalloc.get_traced_memory()[1] < 2.5 * MAX_LINE_BYTES  # `readline` holds a line twice for a moment
    finally:
        tracemalloc.stop()
    assert [record.seq for record in loaded.records] == [1, 2]
    assert [problem.flaw for problem in loaded.problems] == [RecordFlaw.BAD_JSON]
    assert (loaded.good_length, report.records) == (path.stat().st_size, 1)


def test_nobody_waits_for_the_end_of_a_line_of_gigabytes(tmp_path: Path) -> None:
    """What follows such a line is not read."""
    path = written(tmp_path / "log", [EndRecord(task_id="t", outcome="one")])
    with path.open("r+b") as stream:
        stream.truncate(1 << 40)  # no disk can hold it, and nobody can read it to its end
    assert [grown.record.seq for grown in records_since(path, LogPosition())] == [1]
    assert [record.seq for record in load(path).records] == [1]
    assert verify(path).records == 1
