"""When a conversation cannot be condensed, or the provider finds it too long: the oldest exchanges go, pairs whole."""

from pathlib import Path
from typing import Any

import pytest

from robota.protocol.events import ContextReduced
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

EMPTY = {"text": "<summary></summary>"}
TOO_LONG = {"fault": {"kind": "context_too_long", "status": 400}}
NEVER = {"autoCompactThreshold": False}


def test_over_full_drops_the_oldest_exchanges_whole_and_keeps_the_first_words(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt", "c.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start("The very first words.")
        await stage.until_ask("completion_result")
        sent = stage.asked[-1].turns
        check_sendable(sent)
        told = words(sent)
        assert "The very first words." in words(sent[:1])
        assert "older messages of this conversation were left out" in words(sent[:1])
        assert "Looking at a.txt." not in told and "Looking at c.txt." in told
        row = stage.row("sliding_window_truncation").context_truncation
        assert row is not None and row["messagesRemoved"] > 0
        assert row["prevContextTokens"] > 50_000 > row["newContextTokens"]
        assert [event.how for event in stage.events_of(ContextReduced)] == ["truncated"]
        task = stage.logged().current
        assert task is not None and task.conversation().turns == stage.kept
        assert row["truncationId"] in task.context.reduction_ids

    turns = [reading("a.txt"), reading("b.txt"), reading("c.txt", OVER_FULL), DONE]
    play_in_small_window(workspace, turns, story, settings=NEVER)


def test_words_said_in_what_is_dropped_stay(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt", "c.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start("First wish.")
        await stage.until_ask("completion_result")
        await stage.answer("messageResponse", "Second wish.")
        await stage.until_ask("completion_result")
        check_sendable(stage.asked[-1].turns)
        assert words(stage.asked[-1].turns[:1]).count("Second wish.") == 1
        assert words(stage.asked[-1].turns).count("were left out") == 1

    first = [reading("a.txt"), DONE]
    second = [reading("b.txt"), reading("a.txt", OVER_FULL), reading("c.txt"), reading("b.txt", OVER_FULL), DONE]
    play_in_small_window(workspace, [*first, *second], story, settings=NEVER)


@pytest.mark.parametrize("bad", [EMPTY, {"fault": {"kind": "invalid_request"}}], ids=["empty", "refused"])
def test_an_over_full_conversation_without_a_summary_is_cut_instead(workspace: Path, bad: dict[str, Any]) -> None:
    write_files(workspace, "a.txt", "b.txt", "c.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        kinds = [row.say for row in stage.rows if row.say]
        assert kinds.index("condense_context_error") < kinds.index("sliding_window_truncation")
        check_sendable(stage.asked[-1].turns)

    turns = [reading("a.txt"), reading("b.txt"), reading("c.txt", OVER_FULL), bad, DONE]
    play_in_small_window(workspace, turns, story)


def test_results_of_a_first_reply_that_fill_the_window_alone_are_cut(workspace: Path) -> None:
    for name in "stuvwxyz":
        (workspace / f"{name}.txt").write_text(f"{name * 100}\n" * 900)

    async def story(stage: ContextStage) -> None:
        await stage.start("Read them.")
        await stage.until_ask("completion_result")
        sent = stage.asked[-1].turns
        check_sendable(sent)
        assert len(sent) == 3 and "Read them." in words(sent)
        assert words(sent).count("characters omitted to make room") == len("stuvwxyz")

    calls = [call("read_file", path=f"{name}.txt") for name in "stuvwxyz"]
    play_in_small_window(workspace, [{"calls": calls}, DONE], story)


def test_the_provider_finds_it_too_long_and_it_is_condensed_and_sent_again(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt", "c.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start("The task.")
        await stage.until_ask("completion_result")
        refused, summarising, accepted = stage.asked[-3:]
        assert "<condense_request>" in words(summarising.turns[-1:])
        assert len(words(accepted.turns)) < 0.75 * len(words(refused.turns))
        assert "The task." in words(accepted.turns)
        check_sendable(accepted.turns)

    turns = [reading("a.txt"), reading("a.txt"), reading("b.txt"), reading("c.txt"), TOO_LONG, SUMMARY, DONE]
    play_in_small_window(workspace, turns, story)


def test_three_forced_reductions_then_the_user_is_asked_and_what_is_left_is_valid(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt", "c.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start("The task.")
        ask = await stage.until_ask("api_req_failed")
        assert ask.fault is not None and ask.fault.kind == "context_too_long"
        refused = [request for request in stage.asked if request.tools][-4:]
        sizes = [len(words(request.turns)) for request in refused]
        assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) == 4
        for request in refused:
            check_sendable(request.turns)
        task = stage.logged().current
        assert task is not None and task.conversation().turns == stage.kept
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")

    reads = [reading(f"{name}.txt") for name in "abacababc"]
    turns = [*reads, TOO_LONG, TOO_LONG, EMPTY, TOO_LONG, TOO_LONG, DONE]
    play_in_small_window(workspace, turns, story)


def test_a_single_prompt_that_is_too_long_is_not_tried_in_vain(workspace: Path) -> None:
    async def story(stage: ContextStage) -> None:
        await stage.start("long " * 1_000)
        await stage.until_ask("api_req_failed")
        assert len(stage.asked) == 1
        assert stage.events_of(ContextReduced) == []

    play_in_small_window(workspace, [TOO_LONG], story)


def test_a_reply_that_is_too_large_itself_is_summed_up_with_the_rest(workspace: Path) -> None:
    write_files(workspace, "a.txt")
    huge = {"calls": [call("write_to_file", path="new.txt", content="text\n" * 9_000)], "usage": NEARLY_FULL}

    async def story(stage: ContextStage) -> None:
        await stage.start("The task.")
        await stage.until_ask("completion_result")
        (only,) = stage.asked[-1].turns
        assert "The task." in words([only]) and "- new.txt" in words([only])

    play_in_small_window(workspace, [reading("a.txt"), huge, SUMMARY, DONE], story, permission_mode="bypassPermissions")
