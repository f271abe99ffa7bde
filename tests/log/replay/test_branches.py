"""Going back in a conversation: the log grows, and only the branch that is gone on with counts."""

from hypothesis import given
from hypothesis import strategies as st

from robota.log.kinds.calls import AnswerRecord, CheckpointRecord
from robota.log.kinds.conversation import CondenseRecord, MessageRecord, RestoreRecord, TurnRecord
from robota.log.kinds.rewinds import RewindRecord, RewindStartRecord, RewoundFiles
from robota.log.kinds.session import NameRecord, QueueRecord, TaskRecord, TodosRecord
from robota.log.record import FIRST_PREV, Payload, Record, kind_of, seal, unseal
from robota.log.replay.rewind_points import RewindHistory, rewind_history
from robota.log.replay.session import replay
from robota.protocol.conversation import TextBlock, UserTurn
from robota.protocol.message import Message, QueuedMessage, TodoItem


def chained(*payloads: Payload) -> list[Record]:
    records: list[Record] = []
    prev = FIRST_PREV
    for number, payload in enumerate(payloads, start=1):
        line, prev = seal(number, number, kind_of(payload), payload.to_json(), prev)
        record = unseal(line[:-1])
        assert isinstance(record, Record)
        records.append(record)
    return records


def turn(text: str) -> TurnRecord:
    return TurnRecord(task_id="t", turn=UserTurn(content=(TextBlock(text=text),)))


def row(ts: int, kind: str, text: str, task: str = "t") -> MessageRecord:
    return MessageRecord(task_id=task, message=Message(ts=ts, type="say", say=kind, text=text))


def completion(ts: int, *, answered: bool = False) -> MessageRecord:
    message = Message(ts=ts, type="ask", ask="completion_result", is_answered=answered or None)
    return MessageRecord(task_id="t", message=message)


def back(to: int, name: str = "r", action: str = "restore") -> RewindRecord:
    return RewindRecord(rewind_id=name, action=action, to=to)


def checkpoint(name: str, call: str | None = None) -> CheckpointRecord:
    return CheckpointRecord(task_id="t", checkpoint=name, call_id=call, tool=call and "edit_file")


def texts(records: list[Record]) -> list[str]:
    task = replay(records).tasks.get("t")
    found = [] if task is None else [block for each in task.conversation().turns for block in each.content]
    return [block.text for block in found if isinstance(block, TextBlock)]


def test_what_was_left_does_not_count_and_can_be_taken_up_again() -> None:
    records = chained(turn("a"), turn("b"), back(1), turn("c"), back(2), turn("d"))
    assert texts(records[:3]) == ["a"]
    assert texts(records[:4]) == ["a", "c"]
    assert texts(records[:5]) == ["a", "b"]
    assert texts(records) == ["a", "b", "d"]


def test_going_back_crosses_a_condensation_and_one_that_was_undone() -> None:
    put = UserTurn(content=(TextBlock(text="summary"),))
    condense = CondenseRecord(task_id="t", condense_id="c", trigger="manual", first=0, end=2, put=put)
    records = chained(turn("a"), turn("b"), condense, turn("c"), RestoreRecord(task_id="t", id="c"), back(4), back(2))

    def shown(end: int) -> list[str]:
        task = replay(records[:end]).tasks["t"]
        blocks = [block for each in task.conversation().turns for block in each.content]
        return [block.text for block in blocks if isinstance(block, TextBlock)]

    assert shown(4) == ["summary", "c"]
    assert shown(5) == ["a", "b", "c"]
    assert shown(6) == ["summary", "c"]
    assert shown(7) == ["a", "b"]


def test_modes_and_todos_go_back_but_the_queue_stays() -> None:
    todos = (TodoItem(content="x", status="pending"),)
    queue = (QueuedMessage(id="q", timestamp=1, text="later"),)
    records = chained(
        TaskRecord(task_id="t", mode="code"),
        turn("a"),
        TaskRecord(task_id="t", mode="ask"),
        TodosRecord(task_id="t", todos=todos),
        QueueRecord(queue=queue),
        back(2),
    )
    session = replay(records)
    assert (session.tasks["t"].mode, session.tasks["t"].todos) == ("code", ())
    assert session.queue == queue


def test_a_record_that_leads_nowhere_changes_nothing() -> None:
    assert texts(chained(turn("a"), back(2), turn("b"), back(99), turn("c"))) == ["a", "b", "c"]


steps = st.lists(st.one_of(st.none(), st.integers(min_value=0, max_value=30)), max_size=30)


@given(steps)
def test_any_going_back_and_forth_is_as_in_a_simple_model(steps: list[int | None]) -> None:
    """None says something new; a number goes back to after that record."""
    payloads: list[Payload] = []
    states: list[list[str]] = [[]]
    for step in steps:
        if step is None:
            payloads.append(turn(f"{len(payloads)}"))
            states.append([*states[-1], f"{len(payloads) - 1}"])
        else:
            to = step % (len(payloads) + 1)
            payloads.append(back(to))
            states.append(states[to])
    records = chained(*payloads)
    for number, state in enumerate(states):
        assert texts(records[:number]) == state


def talked() -> list[Payload]:
    """Two prompts of one task, the second an answer to its completion, and one of another task."""
    return [
        TaskRecord(task_id="t", mode="code"),  # 1
        row(1, "text", "first"),
        row(2, "api_req_started", ""),
        checkpoint("c1", "call-1"),
        checkpoint("c2"),  # 5
        completion(3),
        AnswerRecord(task_id="t", ts=3, response="messageResponse"),
        completion(3, answered=True),
        row(4, "user_feedback", "second"),
        row(5, "api_req_started", ""),  # 10
        checkpoint("c3", "call-2"),
        completion(6),
        TaskRecord(task_id="u", mode="code"),
        row(7, "text", "third", task="u"),
    ]


def history(*payloads: Payload) -> RewindHistory:
    return rewind_history(chained(*payloads))


def test_points_say_where_the_conversation_stood_before_each_prompt() -> None:
    found = history(*talked())
    assert [(point.prompt, point.to) for point in found.points] == [("first", 0), ("second", 6), ("third", 12)]
    assert replay(chained(*talked())[:6]).tasks["t"].waiting_ask is not None
    assert [call.to for point in found.points for call in point.calls] == [2, 9]


def test_points_say_what_files_were_before_and_after() -> None:
    points = history(*talked()).points
    assert [(point.before, point.after) for point in points] == [("c1", "c2"), ("c3", None), (None, None)]
    files = RewoundFiles(before="c4", after="c1")
    start = RewindStartRecord(rewind_id="r", files=files)
    points = history(*talked(), start).points
    assert [(point.before, point.after) for point in points] == [("c1", "c2"), ("c3", "c4"), ("c4", None)]


def test_numbers_stay_and_branches_that_were_left_are_marked() -> None:
    points = history(*talked(), back(6), row(8, "user_feedback", "instead")).points
    assert [(point.number, point.is_live) for point in points] == [(1, True), (2, False), (3, False), (4, True)]


def test_undo_and_redo_lead_back_and_forth() -> None:
    said = talked()
    found = history(*said, back(6))
    assert [step.to for step in found.undo] == [14] and found.redo == found.undo
    found = history(*said, back(6), back(14, action="undo"))
    assert not found.undo and [step.to for step in found.redo] == [15]
    found = history(*said, back(6), back(14, action="undo"), back(15, action="redo"))
    assert [step.to for step in found.undo] == [16] and not found.redo


def test_redo_right_after_a_restore_brings_back_what_it_took() -> None:
    found = history(*talked(), back(6), back(14, action="redo"))
    assert [step.to for step in found.undo] == [14, 15] and not found.redo


def test_a_restore_that_was_cut_off_can_be_taken_back_and_one_that_failed_need_not() -> None:
    start = RewindStartRecord(rewind_id="x", files=RewoundFiles(before="c8", after="c9"))
    found = history(*talked(), start)
    assert found.cut_off == start and [step.rewind_id for step in found.undo] == ["x"]
    undo_start = RewindStartRecord(rewind_id="y", files=RewoundFiles(before="c9", after="c8"))
    found = history(*talked(), start, undo_start, RewindRecord(rewind_id="y", action="undo", files=undo_start.files))
    assert found.cut_off is None and not found.undo and [step.rewind_id for step in found.redo] == ["y"]
    assert not history(*talked(), start, RewindRecord(rewind_id="x", action="failed")).undo


def test_a_way_back_that_leads_to_itself_or_forward_ends() -> None:
    """Robota writes no such cycle, but a log from elsewhere may contain one."""
    for to in (3, 4, 99, -1):
        records = chained(turn("a"), turn("b"), back(to), turn("c"), back(3))
        assert texts(records[:4]) == ["a", "b", "c"] and texts(records) == ["a", "b"]
        assert [(jump.seq, jump.to) for jump in rewind_history(records).jumps] == [(5, 3)]
    tasks = (
        TaskRecord(task_id="x", parent_task_id="y", mode="m"),
        TaskRecord(task_id="y", parent_task_id="x", mode="m"),
    )
    assert replay(chained(*tasks)).root is not None


def test_a_name_is_not_taken_back_with_the_conversation() -> None:
    records = chained(turn("a"), NameRecord(name="mine"), turn("b"), back(1))
    assert replay(records).name == "mine"


def test_a_row_that_is_written_again_is_no_second_prompt_and_no_second_request() -> None:
    said = talked()
    again = [*said[:9], row(4, "user_feedback", "second"), row(2, "api_req_started", "{}"), *said[9:]]
    found = history(*again)
    assert [point.prompt for point in found.points] == ["first", "second", "third"]
    assert [call.to for point in found.points for call in point.calls] == [2, 11]
