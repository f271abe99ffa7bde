"""Replay: what a session looks like after the records of its log."""

import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from robota.log.chain.reader import load
from robota.log.chain.writer import SessionLog
from robota.log.kinds.calls import AnswerRecord, VerdictRecord
from robota.log.kinds.conversation import MessageRecord, TurnRecord
from robota.log.kinds.session import EndRecord, QueueRecord, SessionHeader, TaskRecord, TodosRecord
from robota.log.record import Payload, Record, seal, unseal
from robota.log.replay.session import SessionFold, replay
from robota.protocol.conversation import TextBlock, UserTurn
from robota.protocol.message import Message, QueuedMessage, TodoItem
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.state import AgentState, detect_agent_state


def projected(*payloads: Payload) -> SessionFold:
    with tempfile.TemporaryDirectory() as directory:
        log = SessionLog.create(Path(directory), lambda: 1)
        for payload in payloads:
            log.append(payload)
        log.close()
        return replay(load(log.path).records)


def task(task_id: str, parent: str | None = None) -> TaskRecord:
    return TaskRecord(task_id=task_id, mode="code", parent_task_id=parent)


def say(ts: int, say: str = "text", text: str | None = None, partial: bool | None = None) -> MessageRecord:
    return MessageRecord(task_id="t", message=Message(ts=ts, type="say", say=say, text=text, partial=partial))


def request(ts: int, **info: object) -> MessageRecord:
    return say(ts, "api_req_started", json.dumps(info) if info else None)


def rows(projection: SessionFold) -> tuple[Message, ...]:
    return projection.tasks["t"].messages


def test_a_session_comes_back_with_all_its_parts() -> None:
    header = SessionHeader(
        id="s",
        cwd="/w",
        model="m",
        provider="p",
        permission_mode=PermissionMode.PLAN,
        completion="implicit",
        version="0",
    )
    turn = UserTurn(content=(TextBlock(text="go"),))
    queue = (QueuedMessage(id="q", timestamp=1, text="later"),)
    todos = (TodoItem(content="c", status="pending"),)
    projection = projected(
        header,
        task("t"),
        TurnRecord(task_id="t", turn=turn),
        VerdictRecord(task_id="t", call_id="c", tool="x", decision="deny", reason="no"),
        TodosRecord(task_id="t", todos=(TodoItem(content="old", status="pending"),)),
        TodosRecord(task_id="t", todos=todos),
        QueueRecord(queue=queue),
    )
    assert projection.header == header
    assert projection.queue == queue
    assert projection.current is projection.tasks["t"]
    assert (projection.tasks["t"].conversation().turns, projection.tasks["t"].todos) == ([turn], todos)
    assert projection.tasks["t"].outcome is None


def test_rows_are_in_order_of_time_and_in_their_newest_version() -> None:
    projection = projected(task("t"), say(2, text="two"), say(1, text="one"), say(2, text="two!"))
    assert [(row.ts, row.text) for row in rows(projection)] == [(1, "one"), (2, "two!")]


def test_unknown_fields_of_a_row_survive_the_log() -> None:
    row = Message(ts=1, type="say", say="text", extra={"future": {"~extra": [1]}})
    assert rows(projected(MessageRecord(task_id="t", message=row))) == (row,)


def test_what_streamed_when_the_process_died_is_closed() -> None:
    projection = projected(task("t"), request(1, request="x", tokensIn=5), say(2, text="half a sen", partial=True))
    started, text = rows(projection)
    assert json.loads(started.text or "") == {"request": "x", "tokensIn": 5, "cost": 0, "cancelReason": "interrupted"}
    assert (text.text, text.partial, text.interrupted) == ("half a sen", False, True)


def test_a_request_that_finished_or_was_cancelled_keeps_what_it_says() -> None:
    finished = projected(task("t"), request(1, cost=0.25))
    assert json.loads(rows(finished)[0].text or "") == {"cost": 0.25}
    assert rows(finished)[0].interrupted is None
    cancelled = projected(task("t"), request(1, cancelReason="user_cancelled"))
    assert json.loads(rows(cancelled)[0].text or "") == {"cancelReason": "user_cancelled", "cost": 0}


partials = st.none() | st.booleans()
infos = st.sampled_from([None, "", "{}", '{"cost":1}', "not json", "[]", '"text"', '{"tokensIn":1}'])
any_rows = st.builds(say, st.integers(1, 5), st.sampled_from(["text", "api_req_started"]), infos, partials)


@given(st.lists(any_rows, min_size=1, max_size=8))
def test_nothing_that_was_loaded_looks_as_if_it_still_streams(payloads: list[MessageRecord]) -> None:
    assert detect_agent_state(rows(projected(*payloads))).state is not AgentState.STREAMING


def test_when_a_subtask_ends_its_parent_is_current_again() -> None:
    nested = [task("parent"), task("child", "parent")]
    assert projected(*nested).current_task_id == "child"
    done = EndRecord(task_id="child", outcome="completed")
    assert projected(*nested, done).current_task_id == "parent"
    assert projected(*nested, done).tasks["parent"].outcome is None


def test_a_task_that_ended_stays_visible_until_it_is_taken_up_again() -> None:
    done = EndRecord(task_id="t", outcome="completed")
    ended = projected(task("t"), done)
    assert (ended.current_task_id, ended.tasks["t"].outcome) == ("t", "completed")
    assert projected(task("t"), done, task("t")).tasks["t"].outcome is None


def test_tasks_that_claim_to_be_their_own_ancestors_do_no_harm() -> None:
    records = [task("a", "b"), task("b", "a"), task("c", "c")]
    ends = [EndRecord(task_id=name, outcome="failed") for name in ("c", "b", "a")]
    current = projected(*records, *ends).current
    assert current is not None and current.outcome == "failed"


def test_a_task_whose_beginning_was_lost_is_still_there() -> None:
    projection = projected(say(1, text="hello"))
    assert projection.current_task_id == "t"
    assert [row.text for row in rows(projection)] == ["hello"]


def sealed(kind: str, payload: bytes) -> Record:
    record = unseal(seal(1, 1, kind, payload, "")[0][:-1])
    assert isinstance(record, Record)
    return record


def test_records_of_unknown_kinds_and_unreadable_ones_are_skipped() -> None:
    records = [
        sealed("hologram", b'{"depth":3}'),
        sealed("message", b'{"taskId":"t","message":{"ts":"soon"}}'),
        sealed("turn", b'{"taskId":"t","turn":{"role":"oracle","content":[]}}'),
        sealed("queue", b"null"),
        sealed("task", b'{"taskId":"t","mode":"code","colour":"blue"}'),
    ]
    projection = replay(records)
    assert (projection.tasks["t"].mode, projection.tasks["t"].messages, projection.queue) == ("code", (), ())


def test_an_empty_log_is_an_empty_session() -> None:
    assert replay([]) == SessionFold()
    assert SessionFold().current is None


def test_an_ask_that_nobody_answered_is_pending_and_an_answered_one_is_not(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path / "asked", lambda: 1)
    log.append(MessageRecord(task_id="t", message=Message(ts=5, type="ask", ask="followup", text="Which?")))
    pending = replay(load(log.path).records).tasks["t"].waiting_ask
    assert pending is not None and pending.text == "Which?"
    log.append(AnswerRecord(task_id="t", ts=5, response="messageResponse", text="That one."))
    task = replay(load(log.path).records).tasks["t"]
    log.close()
    assert task.waiting_ask is None
    assert task.answers[5].text == "That one."


def test_the_newest_permission_mode_holds(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path / "modes", lambda: 1)
    assert replay(load(log.path).records).header is None
    for mode in (PermissionMode.DEFAULT, PermissionMode.PLAN):
        log.append(
            SessionHeader(
                id="s", cwd="/", model="m", provider="p", permission_mode=mode, completion="implicit", version="1"
            )
        )
    session = replay(load(log.path).records)
    log.close()
    assert session.header is not None and session.header.permission_mode is PermissionMode.PLAN
