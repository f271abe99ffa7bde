"""Replay while a log is read: the same session as from all records at once, without keeping the records."""

import tempfile
import tracemalloc
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from robota.log.chain.reader import LOG_NAME, load, scan
from robota.log.chain.writer import SessionLog
from robota.log.kinds.calls import ResultRecord, ToolEndRecord, ToolStartRecord
from robota.log.kinds.conversation import (
    CondenseRecord,
    CutRecord,
    CutResult,
    MessageRecord,
    MessageTextRecord,
    PinRecord,
    RestoreRecord,
    TurnRecord,
)
from robota.log.kinds.rewinds import RewindRecord
from robota.log.kinds.session import EndRecord, NameRecord, QueueRecord, TaskRecord, TodosRecord
from robota.log.record import FIRST_PREV, kind_of, seal
from robota.log.reopening import reopen_session
from robota.log.replay.reading import LogReading
from robota.log.replay.session import SessionFold, replay
from robota.protocol.conversation import AssistantTurn, TextBlock, ToolResultBlock, ToolUseBlock, UserTurn
from robota.protocol.message import Message, QueuedMessage, TodoItem

ROW_BYTES = 10_000
VERSIONS = 500

tasks = st.sampled_from(["a", "b"])
numbers = st.integers(0, 12)
names = st.sampled_from(["c1", "c2"])
words = st.sampled_from(["", "one", "two\n"])
texts = st.builds(TextBlock, text=words)
results = st.builds(ToolResultBlock, tool_use_id=names, content=words)
calls = st.builds(ToolUseBlock, id=names, name=st.just("read_file"), input=st.just({"path": "x"}))
replies = st.builds(AssistantTurn, content=st.lists(texts | calls, max_size=2).map(tuple))
prompts = st.builds(UserTurn, content=st.lists(texts | results, max_size=2).map(tuple))
rows = st.builds(
    Message,
    ts=numbers,
    type=st.sampled_from(["ask", "say"]),
    say=st.sampled_from([None, "text", "api_req_started"]),
    ask=st.sampled_from([None, "followup"]),
    text=words,
    partial=st.sampled_from([None, True, False]),
)
payloads = st.one_of(
    st.builds(TaskRecord, task_id=tasks, mode=words, parent_task_id=st.none() | tasks),
    st.builds(EndRecord, task_id=tasks, outcome=words),
    st.builds(MessageRecord, task_id=tasks, message=rows),
    st.builds(MessageTextRecord, task_id=tasks, ts=numbers, added=words),
    st.builds(TurnRecord, task_id=tasks, turn=replies | prompts),
    st.builds(ToolStartRecord, task_id=tasks, call_id=names, tool=words, input=st.just({})),
    st.builds(ToolEndRecord, task_id=tasks, call_id=names, tool=words, status=words, duration_ms=numbers),
    st.builds(ResultRecord, task_id=tasks, result=results),
    st.builds(CondenseRecord, task_id=tasks, condense_id=names, trigger=words, first=numbers, end=numbers, put=prompts),
    st.builds(
        CutRecord,
        task_id=tasks,
        cut_id=names,
        results=st.builds(CutResult, turn=numbers, call_id=names, put=words).map(lambda cut: (cut,)),
    ),
    st.builds(RestoreRecord, task_id=tasks, id=names),
    st.builds(PinRecord, task_id=tasks, turn=numbers, is_pinned=st.booleans()),
    st.builds(TodosRecord, task_id=tasks, todos=st.builds(TodoItem, content=words, status=words).map(lambda it: (it,))),
    st.builds(
        QueueRecord, queue=st.builds(QueuedMessage, id=words, timestamp=numbers, text=words).map(lambda it: (it,))
    ),
    st.builds(NameRecord, name=words),
    st.builds(RewindRecord, rewind_id=names, action=st.just("restore"), to=st.none() | numbers),
)
entries = st.one_of(
    payloads.map(lambda payload: (kind_of(payload), payload.to_json())),
    st.sampled_from([("turn", b'{"taskId":"a"}'), ("rewind", b'{"to":"x"}'), ("message", b"[]"), ("future", b"{}")]),
)
damage = st.sampled_from([b"", b"not a record\n", b'{"seq":1}\n', b"torn"])


def lines_of(sealed: list[tuple[str, bytes]]) -> list[bytes]:
    lines: list[bytes] = []
    prev = FIRST_PREV
    for number, (kind, payload) in enumerate(sealed, start=1):
        line, prev = seal(number, number, kind, payload, prev)
        lines.append(line)
    return lines


def streamed(path: Path) -> SessionFold:
    reading = LogReading()
    reading.read(path)
    return reading.session()


def without_places(session: SessionFold) -> SessionFold:
    """The session without what only a log tells that was read from a file: where its rows stand."""
    replace = msgspec.structs.replace
    tasks = {
        name: replace(task, spans={}, older=replace(task.older, branch=())) for name, task in session.tasks.items()
    }
    return replace(session, tasks=tasks)


@given(st.lists(entries, max_size=14), st.integers(0, 14), damage, damage)
def test_any_log_gives_the_same_session_record_by_record(
    sealed: list[tuple[str, bytes]], place: int, in_the_middle: bytes, at_the_end: bytes
) -> None:
    lines = lines_of(sealed)
    lines.insert(place, in_the_middle)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "s" / LOG_NAME
        path.parent.mkdir()
        path.write_bytes(b"".join(lines) + at_the_end)
        expected = without_places(replay(load(path).records))
        assert without_places(streamed(path)) == expected
        taken_up = reopen_session(path.parent, Path(name) / "user", lambda: 1)
        taken_up.log.close()
        assert without_places(taken_up.session) == expected


@given(st.lists(entries, max_size=8), damage)
def test_a_scan_says_of_a_log_what_loading_says(sealed: list[tuple[str, bytes]], at_the_end: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / LOG_NAME
        path.write_bytes(b"".join(lines_of(sealed)) + at_the_end)
        whole = load(path)
        handed_over: list[int] = []
        scanned = scan(path, lambda record, _: handed_over.append(record.seq))
    assert handed_over == [record.seq for record in whole.records]
    assert (scanned.records, scanned.problems, scanned.head_hash) == ((), whole.problems, whole.head_hash)
    assert (scanned.last_seq, scanned.last_ts, scanned.length) == (whole.last_seq, whole.last_ts, whole.length)


def test_taking_up_does_not_hold_what_the_log_says_no_longer(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path / "s", lambda: 1)
    row = Message(ts=1, type="say", say="text", text="x" * ROW_BYTES)
    for _ in range(VERSIONS):
        log.append(MessageRecord(task_id="t", message=row))
    log.close()
    tracemalloc.start()
    try:
        taken_up = reopen_session(tmp_path / "s", tmp_path / "user", lambda: 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    taken_up.log.close()
    root = taken_up.session.root
    assert root is not None and root.messages == (row,)
    assert peak < ROW_BYTES * VERSIONS / 5


def test_a_text_that_the_log_holds_is_not_written_again(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path / "s", lambda: 1)
    log.keep_text("the system prompt")
    log.close()
    taken_up = reopen_session(tmp_path / "s", tmp_path / "user", lambda: 1)
    taken_up.log.keep_text("the system prompt")
    taken_up.log.close()
    assert [record.kind for record in load(log.path).records] == ["content"]


def test_a_long_log_is_read_once_and_never_held_whole(tmp_path: Path) -> None:
    """Turns are condensed, one condensation is undone, somebody goes back: still only what is shown is held."""
    log = SessionLog.create(tmp_path / "s", lambda: 1)
    log.append(TaskRecord(task_id="t", mode="code"))
    for number in range(VERSIONS):
        log.append(MessageRecord(task_id="t", message=Message(ts=number, type="say", say="text", text="x" * ROW_BYTES)))
        log.append(TurnRecord(task_id="t", turn=UserTurn(content=(TextBlock(text="y" * ROW_BYTES),))))
        if number % 20 == 19:
            put = UserTurn(content=(TextBlock(text="in short"),))
            name = f"c{number}"
            log.append(CondenseRecord(task_id="t", condense_id=name, trigger="auto", first=0, end=number, put=put))
        if number in (100, 200):
            log.append(RestoreRecord(task_id="t", id="c99"))
            log.append(RewindRecord(rewind_id=f"r{number}", action="restore", to=150))
    log.close()
    told: list[int] = []
    reading = LogReading(trim_after=20 * ROW_BYTES, max_rows=10, progress=told.append)
    tracemalloc.start()
    try:
        reading.read(log.path)
        session = reading.session()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    whole = replay(load(log.path).records).root
    assert session.root is not None and whole is not None
    assert session.root.conversation().turns == whole.conversation().turns
    assert session.root.messages == whole.messages[-10:]
    assert peak < 2 * ROW_BYTES * VERSIONS / 5
    assert told == sorted(told) and len(told) > 10
