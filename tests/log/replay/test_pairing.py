"""Whatever a log holds, the provider gets a history that it accepts."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robota.log.replay.context import INTERRUPTED, LOST_BEGINNING, Mend, mend, unanswered
from robota.protocol.conversation import (
    AssistantTurn,
    ImageBlock,
    ImageSource,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    Turn,
    Usage,
    UserBlock,
    UserTurn,
)

IDS = ["a", "b", "a_2", ""]


def text(words: str) -> TextBlock:
    return TextBlock(text=words)


def call(call_id: str) -> ToolUseBlock:
    return ToolUseBlock(id=call_id, name="read_file", input={})


def result(call_id: str, content: str = "content") -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=call_id, content=content)


def interrupted(call_id: str) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=call_id, content=INTERRUPTED, is_error=True)


def user(*blocks: UserBlock) -> UserTurn:
    return UserTurn(content=blocks)


def assistant(*blocks: TextBlock | ToolUseBlock) -> AssistantTurn:
    return AssistantTurn(content=blocks)


ids = st.sampled_from(IDS)
words = st.builds(text, st.sampled_from(["one", "two"]))
calls = st.builds(call, ids)
results = st.builds(result, ids, st.sampled_from(["first", "second"]))
broken_turns: st.SearchStrategy[Turn] = st.one_of(
    st.lists(words | calls, max_size=4).map(lambda blocks: assistant(*blocks)),
    st.lists(words | results, max_size=4).map(lambda blocks: user(*blocks)),
)
broken_histories = st.lists(broken_turns, max_size=8)


@st.composite
def valid_histories(draw: st.DrawFn) -> list[Turn]:
    turns: list[Turn] = [user(draw(words))]
    for _ in range(draw(st.integers(0, 5))):
        call_ids = draw(st.lists(st.sampled_from(["a", "b", "c"]), unique=True, max_size=3))
        turns.append(assistant(draw(words), *map(call, call_ids)))
        said = draw(st.lists(words, min_size=0 if call_ids else 1, max_size=2))
        turns.append(user(*map(result, call_ids), *said))
    return turns


def check_valid(turns: Sequence[Turn]) -> None:
    expected: tuple[str, ...] = ()
    for place, turn in enumerate(turns):
        assert turn.content
        assert isinstance(turn, UserTurn if place % 2 == 0 else AssistantTurn)
        if isinstance(turn, UserTurn):
            answers = [block.tool_use_id for block in turn.content if isinstance(block, ToolResultBlock)]
            assert tuple(answers) == expected
            assert all(isinstance(block, ToolResultBlock) for block in turn.content[: len(answers)])
        expected = tuple(use.id for use in unanswered(turn))
        assert len(set(expected)) == len(expected)
        assert "" not in expected
    assert expected == ()


@settings(max_examples=500)
@given(broken_histories)
def test_any_history_becomes_valid_and_then_stays_as_it_is(turns: list[Turn]) -> None:
    """Calls without results, results without calls, and ids used twice."""
    mended = mend(turns)
    check_valid(mended.turns)
    assert mend(turns) == mended
    again = mend(mended.turns)
    assert all(new is old for new, old in zip(again.turns, mended.turns, strict=True))
    assert again.problems == ()


@settings(max_examples=300)
@given(broken_histories)
def test_every_change_is_reported_and_nothing_else_is(turns: list[Turn]) -> None:
    mended = mend(turns)
    is_same = len(turns) == len(mended.turns) and all(new is old for new, old in zip(mended.turns, turns, strict=True))
    assert is_same == (mended.problems == ())
    assert all(0 <= problem.index <= len(mended.turns) for problem in mended.problems)


@given(valid_histories())
def test_a_valid_history_keeps_its_very_objects(turns: list[Turn]) -> None:
    mended = mend(turns)
    assert mended.problems == ()
    assert all(new is old for new, old in zip(mended.turns, turns, strict=True))


@settings(max_examples=300)
@given(broken_histories, broken_histories)
def test_mending_only_what_is_new_gives_the_same(old: list[Turn], new: list[Turn]) -> None:
    before = mend(old).turns
    assert mend([*before, *new], trusted=len(before)) == mend([*before, *new])


@settings(max_examples=300)
@given(broken_histories)
def test_no_word_is_lost(turns: list[Turn]) -> None:
    said = [block for turn in turns for block in turn.content if isinstance(block, TextBlock)]
    kept = [block for turn in mend(turns).turns for block in turn.content if isinstance(block, TextBlock)]
    remaining = iter(kept)
    assert all(any(block is candidate for candidate in remaining) for block in said)


START = user(text("go"))


@pytest.mark.parametrize(
    ("turns", "expected", "mends"),
    [
        pytest.param(
            [START, assistant(call("a"), call("b"))],
            [START, assistant(call("a"), call("b")), user(interrupted("a"), interrupted("b"))],
            {Mend.TURN_ADDED, Mend.RESULT_ADDED},
            id="killed while calls ran",
        ),
        pytest.param(
            [START, assistant(call("a"), call("b")), user(result("b"), text("hm"))],
            [START, assistant(call("a"), call("b")), user(interrupted("a"), result("b"), text("hm"))],
            {Mend.RESULT_ADDED},
            id="parallel calls half done",
        ),
        pytest.param(
            [START, assistant(call("a"), call("b")), user(text("x"), result("b"), result("a"))],
            [START, assistant(call("a"), call("b")), user(result("a"), result("b"), text("x"))],
            {Mend.RESULTS_MOVED},
            id="results late and out of order",
        ),
        pytest.param(
            [START, assistant(call("a")), user(result("a", "1"), result("a", "2"))],
            [START, assistant(call("a")), user(result("a", "1"))],
            {Mend.RESULT_DROPPED},
            id="two results, the first wins",
        ),
        pytest.param(
            [
                START,
                assistant(call("a"), call("a"), call("a_2")),
                user(result("a", "1"), result("a", "2"), result("a_2")),
            ],
            [
                START,
                assistant(call("a"), call("a_3"), call("a_2")),
                user(result("a", "1"), result("a_3", "2"), result("a_2")),
            ],
            {Mend.CALL_RENAMED},
            id="one id for two calls, and the obvious new name taken",
        ),
        pytest.param(
            [START, assistant(call("a")), assistant(text("b"))],
            [START, assistant(call("a")), user(interrupted("a")), assistant(text("b"))],
            {Mend.TURN_ADDED, Mend.RESULT_ADDED},
            id="the turn with results is missing",
        ),
        pytest.param(
            [START, user(), user(text("on")), assistant(text("x")), assistant(text("y"))],
            [user(text("go"), text("on")), assistant(text("x"), text("y"))],
            {Mend.EMPTY_TURN_DROPPED, Mend.TURNS_MERGED},
            id="sides that spoke twice",
        ),
        pytest.param(
            [assistant(text("x"))],
            [user(text(LOST_BEGINNING)), assistant(text("x"))],
            {Mend.BEGINNING_ADDED},
            id="the beginning is lost",
        ),
    ],
)
def test_known_damage(turns: list[Turn], expected: list[Turn], mends: set[Mend]) -> None:
    mended = mend(turns)
    assert list(mended.turns) == expected
    assert {problem.mend for problem in mended.problems} == mends


def test_a_result_without_its_call_becomes_text_and_keeps_its_images() -> None:
    source = ImageSource(media_type="image/png", data="AAAA")
    orphan = ToolResultBlock(tool_use_id="gone", content="42", images=(source,))
    (turn,) = mend([user(orphan)]).turns
    words, image = turn.content
    assert isinstance(words, TextBlock)
    assert words.text.endswith("\n42")
    assert image == ImageBlock(source=source)


def test_merged_replies_add_up_their_usage() -> None:
    first = AssistantTurn(content=(text("a"),), usage=Usage(input_tokens=1, output_tokens=2))
    second = AssistantTurn(content=(text("b"),), id="2", usage=Usage(output_tokens=3))
    merged = mend([START, first, second]).turns[1]
    assert isinstance(merged, AssistantTurn)
    assert (merged.id, merged.usage) == ("2", Usage(input_tokens=1, output_tokens=5))


def test_only_a_reply_with_calls_is_unanswered() -> None:
    assert unanswered(assistant(text("x"), call("a"))) == (call("a"),)
    assert unanswered(assistant(text("x"))) == ()
    assert unanswered(user(result("a"))) == ()
    assert unanswered(None) == ()
