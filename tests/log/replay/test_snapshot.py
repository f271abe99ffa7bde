"""Opening a session from a snapshot: the same session as from the whole log, whatever stands in either."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from robota.log.chain.head import ChainHead
from robota.log.chain.reader import LOG_NAME, load
from robota.log.kinds.conversation import CondenseRecord, MessageRecord, MessageTextRecord, RestoreRecord, TurnRecord
from robota.log.kinds.rewinds import RewindRecord
from robota.log.kinds.session import EndRecord, TaskRecord
from robota.log.record import Payload, kind_of
from robota.log.replay.reading import LogReading
from robota.log.replay.rows.row_pages import rows_before
from robota.log.replay.session import SessionFold, replay
from robota.log.replay.snapshot import SNAPSHOTS
from robota.log.replay.task import TaskFold
from robota.protocol.conversation import TextBlock, UserTurn
from robota.protocol.message import Message
from tests.log.replay.test_reading import damage, entries, lines_of, tasks

KEPT = 2
requests = st.builds(
    Message,
    ts=st.integers(0, 12),
    type=st.just("say"),
    say=st.just("api_req_started"),
    text=st.sampled_from(['{"cost":1}', '{"tokensIn":3,"cost":null}', '{"tokensIn":5,"cacheReads":2,"cost":2}', "{}"]),
)
condensed = st.builds(
    Message,
    ts=st.integers(0, 12),
    type=st.just("say"),
    say=st.just("condense_context"),
    context_condense=st.builds(
        lambda name, tokens: {"condenseId": name, "newContextTokens": tokens, "cost": 0.5},
        st.sampled_from(["c1", "c2"]),
        st.integers(0, 9),
    ),
)
accounts = st.builds(MessageRecord, task_id=tasks, message=requests | condensed)
sealed_entries = st.lists(entries | accounts.map(lambda payload: (kind_of(payload), payload.to_json())), max_size=24)


def reading(snapshot: Path | None, growth: int = 1) -> LogReading:
    return LogReading(snapshot, max_rows=KEPT, growth=growth)


def opened(log: Path, snapshot: Path | None) -> SessionFold:
    read = reading(snapshot)
    read.read(log)
    return read.session()


def task_state(log: Path, task: TaskFold | None) -> Any:
    """All that a task is taken up with, its rows in one."""
    if task is None:
        return None
    first = task.messages[0].ts if task.messages else 0
    older = rows_before(log, task.task_id, task.older, first, 1_000)
    assert len(older.rows) == task.older.count and older.older == 0
    closed, going_on = task.conversation(), task.open_conversation()
    return (
        [*older.rows, *task.messages],
        (task.context, closed.turns, going_on.turns),
        (task.task_id, task.mode, task.parent_task_id, task.outcome, task.todos, task.undone),
        (task.open_calls, task.started_calls, task.files),
        (task.totals, task.context_tokens, task.waiting_ask, task.is_complete),
    )


def same(log: Path, session: SessionFold, whole: SessionFold) -> None:
    assert (session.header, session.name, session.queue) == (whole.header, whole.name, whole.queue)
    assert session.current_task_id == whole.current_task_id
    assert task_state(log, session.current) == task_state(log, whole.current)
    assert task_state(log, session.root) == task_state(log, whole.root)


@given(sealed_entries, st.lists(st.integers(0, 24), max_size=3).map(sorted), st.integers(0, 24), damage, damage)
def test_a_session_is_the_same_from_any_snapshot_of_its_log(
    sealed: list[tuple[str, bytes]], cuts: list[int], place: int, in_the_middle: bytes, at_the_end: bytes
) -> None:
    lines = lines_of(sealed)
    lines.insert(place, in_the_middle)
    with tempfile.TemporaryDirectory() as name:
        log, snapshot = Path(name) / LOG_NAME, Path(name) / "snapshot"
        for cut in cuts:
            log.write_bytes(b"".join(lines[:cut]))
            reading(snapshot).read(log)
        log.write_bytes(b"".join(lines) + at_the_end)
        whole = load(log)
        read = reading(snapshot)
        loaded = read.read(log)
        same(log, read.session(), replay(whole.records))
        assert read.old_part_is_unchanged(log)
        same(log, opened(log, None), replay(whole.records))
        bounded = LogReading(max_rows=KEPT, trim_after=1)
        bounded.read(log)
        same(log, bounded.session(), replay(whole.records))
    assert (loaded.problems, loaded.head_hash, loaded.texts) == (whole.problems, whole.head_hash, whole.texts)
    assert (loaded.last_seq, loaded.last_ts, loaded.length) == (whole.last_seq, whole.last_ts, whole.length)


@settings(max_examples=20)
@given(sealed_entries)
def test_a_session_is_the_same_from_a_snapshot_after_any_of_its_records(sealed: list[tuple[str, bytes]]) -> None:
    """One snapshot made at a time, and one that is updated with every record."""
    lines = lines_of(sealed)
    with tempfile.TemporaryDirectory() as name:
        log, updated = Path(name) / LOG_NAME, Path(name) / "updated"
        log.write_bytes(b"".join(lines))
        whole = replay(load(log).records)
        for cut in range(len(lines) + 1):
            snapshot = Path(name) / f"snapshot-{cut}"
            log.write_bytes(b"".join(lines[:cut]))
            reading(snapshot).read(log)
            same(log, opened(log, updated), replay(load(log).records))
            log.write_bytes(b"".join(lines))
            same(log, opened(log, snapshot), whole)


@given(sealed_entries.filter(bool), st.integers(0, 100_000), st.integers(0, 255))
@example([("name", b'{"name":"x"}')], 10, 0)
def test_a_snapshot_that_was_changed_does_not_count(sealed: list[tuple[str, bytes]], place: int, byte: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        log, snapshot = Path(name) / LOG_NAME, Path(name) / "snapshot"
        log.write_bytes(b"".join(lines_of(sealed)))
        reading(snapshot).read(log)
        data = bytearray(snapshot.read_bytes())
        data[place % len(data)] = byte
        snapshot.write_bytes(data)
        same(log, opened(log, snapshot), replay(load(log).records))


@given(sealed_entries, sealed_entries.filter(bool))
def test_the_snapshot_of_another_log_does_not_count(
    sealed: list[tuple[str, bytes]], other: list[tuple[str, bytes]]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        log, snapshot = Path(name) / LOG_NAME, Path(name) / "snapshot"
        log.write_bytes(b"".join(lines_of(other)))
        reading(snapshot).read(log)
        log.write_bytes(b"".join(lines_of(sealed)))
        same(log, opened(log, snapshot), replay(load(log).records))


def message(ts: int, text: str = "words", say: str = "text", task: str = "a") -> MessageRecord:
    return MessageRecord(task_id=task, message=Message(ts=ts, type="say", say=say, text=text))


def turn(text: str) -> TurnRecord:
    return TurnRecord(task_id="a", turn=UserTurn(content=(TextBlock(text=text),)))


SUMMARY = CondenseRecord(
    task_id="a", condense_id="c", trigger="auto", first=0, end=2, put=UserTurn(content=(TextBlock(text="in short"),))
)
REQUESTS = [message(ts, '{"tokensIn":4,"cost":1}', "api_req_started") for ts in (1, 2)]
ROWS = [message(ts) for ts in range(3, 9)]
BEGUN = [TaskRecord(task_id="a", mode="code")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([*REQUESTS, *ROWS], [message(1, '{"cost":5}', "api_req_started")], id="an old row changes"),
        pytest.param(
            [*REQUESTS, *ROWS], [MessageTextRecord(task_id="a", ts=3, added="!")], id="text comes for an old row"
        ),
        pytest.param(
            [turn("one"), turn("two"), SUMMARY], [RestoreRecord(task_id="a", id="c"), turn("three")], id="undone"
        ),
        pytest.param([turn("one"), turn("two")], [SUMMARY, RestoreRecord(task_id="a", id="c")], id="done and undone"),
        pytest.param(
            [*BEGUN, TaskRecord(task_id="b", mode="ask")],
            [TaskRecord(task_id="c", mode="ask", parent_task_id="a"), EndRecord(task_id="c", outcome="completed")],
            id="a subtask of a task that was left",
        ),
        pytest.param(
            [*BEGUN, message(1), TaskRecord(task_id="b", mode="ask")], [message(2)], id="a task that was left goes on"
        ),
        pytest.param(
            [*BEGUN, *ROWS],
            [RewindRecord(rewind_id="r", action="restore", to=3), message(20)],
            id="somebody goes back to before the snapshot",
        ),
        pytest.param(
            [
                *BEGUN,
                *ROWS,
                RewindRecord(rewind_id="r", action="restore", to=3),
                *(message(ts) for ts in range(20, 26)),
            ],
            [message(30)],
            id="somebody went back before the snapshot",
        ),
        pytest.param([*REQUESTS, *ROWS], [message(20)], id="the newest request is far from the end"),
    ],
)
def test_what_concerns_the_part_before_the_snapshot_is_not_lost(
    tmp_path: Path, before: list[Payload], after: list[Payload]
) -> None:
    lines = lines_of([(kind_of(each), each.to_json()) for each in (*before, *after)])
    log, snapshot = tmp_path / LOG_NAME, tmp_path / "snapshot"
    log.write_bytes(b"".join(lines[: len(before)]))
    reading(snapshot).read(log)
    log.write_bytes(b"".join(lines))
    session = opened(log, snapshot)
    same(log, session, replay(load(log).records))
    # The end of the newest reply is looked for in the rows at hand.
    task = session.root
    assert task is None or task.older.account.requests < 2


def rows(count: int) -> list[tuple[str, bytes]]:
    messages = (Message(ts=ts, type="say", say="text", text=f"row {ts}") for ts in range(1, count + 1))
    return [("message", MessageRecord(task_id="a", message=message).to_json()) for message in messages]


@pytest.mark.parametrize("has_request", [False, True])
@pytest.mark.parametrize("ask", ["followup", "completion_result"])
def test_a_question_is_still_open_after_it_was_offered_to_resume_many_times(
    tmp_path: Path, ask: str, has_request: bool
) -> None:
    """The row before the offers stays at hand, whether or not a request makes rows stay."""
    asked = Message(ts=2, type="ask", ask=ask, text="Which one?")
    offers = [Message(ts=ts, type="ask", ask="resume_task") for ts in range(3, 9)]
    log, snapshot = tmp_path / LOG_NAME, tmp_path / "snapshot"
    requests = [Message(ts=1, type="say", say="api_req_started", text='{"cost":1}')] if has_request else []
    records = [MessageRecord(task_id="a", message=message) for message in (*requests, asked, *offers)]
    log.write_bytes(b"".join(lines_of([("message", record.to_json()) for record in records])))
    reading(snapshot).read(log)
    written = SNAPSHOTS.read(snapshot, log)
    assert written is not None and asked in written.session.tasks["a"].messages
    task = opened(log, snapshot).root
    assert task is not None and task.waiting_ask == asked
    assert task.is_complete == (ask == "completion_result")


def test_a_snapshot_of_another_format_is_ignored(tmp_path: Path) -> None:
    log, snapshot = tmp_path / LOG_NAME, tmp_path / "snapshot"
    log.write_bytes(b"".join(lines_of(rows(9))))
    reading(snapshot).read(log)
    label, body = snapshot.read_bytes().split(b"\n", 1)
    assert SNAPSHOTS.read(snapshot, log) is not None
    for other in (b"4 ", b"snapshot 4 ", b"rewind 2 "):
        snapshot.write_bytes(label.replace(b"snapshot 5 ", other) + b"\n" + body)
        assert SNAPSHOTS.read(snapshot, log) is None
        same(log, opened(log, snapshot), replay(load(log).records))


def test_only_what_follows_the_snapshot_is_read(tmp_path: Path) -> None:
    log, snapshot = tmp_path / LOG_NAME, tmp_path / "snapshot"
    lines = lines_of(rows(50))
    log.write_bytes(b"".join(lines[:40]))
    reading(snapshot).read(log)
    # Whoever reads the old part stumbles over this; the end of the old part is as it was.
    log.write_bytes(b"x" * len(b"".join(lines[:39])) + b"".join(lines[39:]))
    read = reading(snapshot)
    assert read.read(log).problems == ()
    task = read.session().root
    assert task is not None and [row.ts for row in task.messages] == [49, 50] and task.older.count == 48
    assert not read.old_part_is_unchanged(log) and not snapshot.exists()
    assert reading(snapshot).read(log).problems


def test_older_rows_come_page_by_page_from_the_newest_on(tmp_path: Path) -> None:
    log = tmp_path / LOG_NAME
    log.write_bytes(b"".join(lines_of(rows(1_000))))
    task = opened(log, None).root
    assert task is not None
    before, seen = task.messages[0].ts, [row.ts for row in task.messages]
    while (found := rows_before(log, "a", task.older, before, 170)).rows:
        assert len(found.rows) == min(170, before - 1) and found.older == found.rows[0].ts - 1
        before = found.rows[0].ts
        seen[:0] = [row.ts for row in found.rows]
    assert seen == list(range(1, 1_001))


def test_a_log_that_is_not_the_noted_one_is_told_from_a_snapshot_too(tmp_path: Path) -> None:
    log, snapshot = tmp_path / LOG_NAME, tmp_path / "snapshot"
    log.write_bytes(b"".join(lines_of(rows(9))))
    records = load(log).records
    fourth = ChainHead(4, records[3].hash)
    for noted, is_own in ((fourth, True), (ChainHead(4, "f" * 64), False), (ChainHead(12, "f" * 64), False)):
        LogReading(snapshot, None, growth=1).read(log)
        read = LogReading(snapshot, noted)
        read.read(log)
        assert read.is_own is is_own
