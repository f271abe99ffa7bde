"""What a model is shown of a task, read from turns, condensations and truncations."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from robota.log.kinds.conversation import (
    CondenseRecord,
    MessageRecord,
    Reduction,
    RestoreRecord,
    TruncateRecord,
    TurnRecord,
)
from robota.log.replay.context import ContextFold, ModelContext
from robota.protocol.conversation import Turn, UserTurn
from robota.protocol.message import Message
from tests.log.replay.test_pairing import (
    assistant,
    broken_histories,
    call,
    check_valid,
    result,
    text,
    user,
    valid_histories,
)
from tests.log.replay.test_session import projected, task

TURNS: list[Turn] = [
    user(text("the task")),
    assistant(call("a")),
    user(result("a")),
    assistant(call("b")),
    user(result("b"), text("and this")),
    assistant(text("done")),
]
SUMMARY = user(text("a summary"))


def condense(first: int, end: int, id: str = "c1", put: UserTurn = SUMMARY) -> CondenseRecord:
    return CondenseRecord(task_id="t", condense_id=id, trigger="auto", first=first, end=end, put=put)


def truncate(first: int, end: int, id: str = "t1") -> TruncateRecord:
    return TruncateRecord(task_id="t", truncation_id=id, first=first, end=end, put=user(text(f"note {id}")))


def shown(*payloads: CondenseRecord | TruncateRecord | RestoreRecord | Turn) -> list[Turn]:
    """What the model is shown after these records have been written to a real log and read again."""
    reductions = (CondenseRecord, TruncateRecord, RestoreRecord)
    records = [
        payload if isinstance(payload, reductions) else TurnRecord(task_id="t", turn=payload) for payload in payloads
    ]
    return projected(task("t"), *records).tasks["t"].conversation().turns


def test_a_condensation_stands_for_the_turns_it_names_and_what_follows_is_added() -> None:
    assert shown(*TURNS[:5], condense(0, 3), TURNS[5]) == [SUMMARY, *TURNS[3:]]


def test_a_pair_whose_call_was_hidden_by_a_damaged_record_is_still_valid() -> None:
    history = shown(*TURNS[:5], condense(0, 4))
    check_valid(history)
    assert len(history) == 1


def test_later_reductions_cover_earlier_ones() -> None:
    after_both = shown(*TURNS[:3], truncate(1, 3), *TURNS[3:5], condense(0, 3), TURNS[5])
    assert after_both == [SUMMARY, *TURNS[3:]]
    twice = shown(*TURNS[:5], truncate(1, 3, "t1"), TURNS[5], user(text("more")), truncate(1, 5, "t2"))
    assert twice == [user(text("the task"), text("note t2")), TURNS[5], user(text("more"))]


def test_a_restored_condensation_shows_its_turns_again_and_leaves_later_reductions_as_they_are() -> None:
    records = [*TURNS[:3], condense(0, 2), *TURNS[3:], truncate(3, 5)]
    note = user(result("a"), text("note t1"))
    assert shown(*records, RestoreRecord(task_id="t", id="c1")) == [*TURNS[:2], note, TURNS[5]]
    assert shown(*records, RestoreRecord(task_id="t", id="other")) == shown(*records)
    both = [RestoreRecord(task_id="t", id="c1"), RestoreRecord(task_id="t", id="t1")]
    assert shown(*records, *both) == TURNS


def test_nothing_is_deleted() -> None:
    assert shown(*TURNS, condense(0, 5), RestoreRecord(task_id="t", id="c1")) == TURNS


def test_context_tokens_are_those_of_the_newest_request_or_reduction() -> None:
    def row(ts: int, **fields: Any) -> MessageRecord:
        return MessageRecord(task_id="t", message=Message(ts=ts, type="say", **fields))

    request = row(1, say="api_req_started", text='{"tokensIn":90,"tokensOut":10,"cost":0}')
    condensed = row(2, say="condense_context", context_condense={"newContextTokens": 7})
    failed = row(3, say="api_req_started", text='{"cost":0}')
    assert projected(task("t"), request).tasks["t"].context_tokens == 100
    assert projected(task("t"), request, condensed, failed).tasks["t"].context_tokens == 7
    assert projected(task("t")).tasks["t"].context_tokens == 0


reductions: st.SearchStrategy[Reduction] = st.builds(
    lambda reduce, first, length: reduce(first, first + length),
    st.sampled_from([condense, truncate]),
    st.integers(0, 8),
    st.integers(0, 8),
)


@settings(max_examples=300)
@given(broken_histories, st.lists(st.tuples(st.integers(0, 8), reductions), max_size=4))
def test_whatever_a_log_holds_the_model_is_shown_a_valid_history(
    turns: list[Turn], placed: list[tuple[int, Reduction]]
) -> None:
    fold = ContextFold()
    for number, turn in enumerate([*turns, None]):
        for after, reduction in placed:
            if after == number or (turn is None and after > number):
                fold.reduce(reduction)
        if turn is not None:
            fold.add(turn)
    conversation = ModelContext(fold)
    conversation.close()
    check_valid(conversation.turns)


@given(valid_histories())
def test_without_reductions_a_valid_history_is_shown_as_it_is(turns: list[Turn]) -> None:
    fold = ContextFold()
    for turn in turns:
        fold.add(turn)
    conversation = ModelContext(fold)
    conversation.close()
    assert all(new is old for new, old in zip(conversation.turns, turns, strict=True))
