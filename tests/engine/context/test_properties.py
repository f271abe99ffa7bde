"""Whatever a model says and however often its window fills: what is sent is valid, and the log alone tells the same."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from robota.engine.context.cut import shorter
from robota.engine.context.retained import bounded, user_text
from robota.engine.context.window import Gauge
from robota.engine.record.history import characters_of
from robota.log.chain.reader import load
from robota.log.replay.context import mend
from robota.log.replay.session import replay
from robota.protocol.conversation import ToolResultBlock, Turn
from robota.protocol.events import MessageCreated
from tests.engine.context.context_stage import (
    DONE,
    NEARLY_FULL,
    OVER_FULL,
    SUMMARY,
    ContextStage,
    check_sendable,
    play_in_small_window,
    reading,
    words,
    write_files,
)
from tests.engine.stage import call
from tests.log.replay.test_pairing import assistant, check_valid, result, text, user, valid_histories
from tests.log.replay.test_pairing import call as tool_use

QUESTION = {"calls": [call("read_file", path="a.txt"), call("read_file", path="none.txt")]}
EMPTY = {"text": "<summary></summary>"}
TOO_LONG = {"fault": {"kind": "context_too_long"}}
usages = st.sampled_from([None, NEARLY_FULL, OVER_FULL])
replies: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(reading, st.sampled_from(["a.txt", "b.txt", "c.txt"]), usages),
    st.builds(lambda usage: {**DONE, "usage": usage or {}}, usages),
    st.sampled_from([SUMMARY, QUESTION, EMPTY, TOO_LONG, {"text": "x" * 9_000}]),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(replies, min_size=4, max_size=14))
def test_every_request_is_valid_and_the_log_tells_the_same(turns: list[dict[str, Any]]) -> None:
    """Wherever a conversation is shortened, a call and its result are kept or removed together."""
    said = ["Wish number 0."]

    async def story(stage: ContextStage) -> None:
        await stage.start(said[0])
        while await next_ask(stage) == "completion_result":
            said.append(f"Wish number {len(said)}.")
            await stage.answer("messageResponse", said[-1])
        for request in stage.asked:
            check_sendable(request.turns)
        task = stage.logged().current
        # A call may still be open; the log, of which nobody knows whether it goes on, closes it.
        assert task is not None and task.conversation().turns == list(mend(stage.kept).turns)
        everything = words(stage.kept)
        assert [everything.count(wish) for wish in said] == [1] * len(said)
        check_every_moment_to_die(stage)

    with tempfile.TemporaryDirectory() as directory:
        workspace = Path(directory) / "workspace"
        workspace.mkdir()
        write_files(workspace, "a.txt", "b.txt", "c.txt")
        play_in_small_window(workspace, turns, story)


async def next_ask(stage: ContextStage) -> str | None:
    event = await stage.until(lambda event: isinstance(event, MessageCreated) and event.message.ask is not None)
    assert isinstance(event, MessageCreated)
    return event.message.ask


def check_every_moment_to_die(stage: ContextStage) -> None:
    """A killed process leaves the beginning of its log, which is enough to go on with."""
    records = load(stage.opened.log.path).records
    for end in range(0, len(records), 3):
        for task in replay(records[:end]).tasks.values():
            check_valid(task.conversation().turns)


@given(valid_histories(), st.integers(0, 40))
def test_a_history_made_shorter_is_valid_and_not_longer(turns: list[Turn], room: int) -> None:
    short = shorter(turns, room)
    check_valid(short)
    assert short[0] is turns[0] or not room
    assert sum(map(characters_of, short)) <= sum(map(characters_of, turns))


def test_old_outputs_are_shortened_before_anything_is_left_out() -> None:
    long = "x" * 5_000
    turns: list[Turn] = [user(text("go"))]
    for name in "abc":
        turns += [assistant(tool_use(name)), user(result(name, long))]
    short = shorter(turns, 11_000)
    assert len(short) == len(turns)
    assert [len(words([turn])) < 1_000 for turn in short[2::2]] == [True, False, False]


@given(st.lists(st.text("ab\n", min_size=1, max_size=3_000), max_size=12), st.integers(0, 8_000))
def test_bounded_words_keep_the_newest_whole_and_stay_within_their_room(messages: list[str], room: int) -> None:
    kept = bounded(messages, room)
    assert kept[-1:] == messages[-1:]
    assert sum(map(len, kept[:-1])) <= room


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**5))
def test_the_gauge_follows_the_providers_count(tokens: int, before: int, after: int, overhead: int) -> None:
    gauge = Gauge(overhead)
    assert gauge.tokens(before) == (before + overhead) // 4
    gauge.count(tokens, before)
    assert gauge.tokens(before) == tokens
    assert gauge.tokens(before + 400) == tokens + 100
    now = gauge.reduced(before, min(before, after))
    assert now == gauge.tokens(min(before, after)) <= tokens


@given(st.text(max_size=30), st.sampled_from(["", "\nWith this answer the task is now in architect mode."]))
def test_of_an_answer_to_a_question_only_the_words_of_the_user_are_kept(said: str, after: str) -> None:
    block = ToolResultBlock(tool_use_id="c", content=f"<user_message>\n{said}\n</user_message>{after}")
    assert user_text(block) == said
