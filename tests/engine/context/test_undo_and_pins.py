"""What a user can do about condensing: see it before, keep turns out of it, take it back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robota.log.chain.reader import load
from robota.log.kinds.conversation import PinRecord, RestoreRecord
from robota.log.record import payload_of
from robota.protocol.commands import (
    Accepted,
    CondenseContext,
    CondensePreviewRequest,
    PinTurn,
    Refused,
    RestoreContext,
)
from robota.protocol.conversation import Turn
from robota.protocol.events import CondensePreview, ContextReduced
from robota.protocol.ledger import Fate, LedgerKind
from robota.protocol.state import AgentState
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
from tests.engine.context.test_cut_outputs import many_reads, write_large

SECOND = "Now the other one."


async def condense(stage: ContextStage) -> None:
    assert isinstance(await stage.submit(CondenseContext()), Accepted)
    await stage.until_ask("completion_result")


async def preview(stage: ContextStage) -> CondensePreview:
    assert isinstance(await stage.submit(CondensePreviewRequest()), Accepted)
    event = await stage.until(lambda event: isinstance(event, CondensePreview))
    assert isinstance(event, CondensePreview)
    return event


def payloads(stage: ContextStage, kind: type) -> list[Any]:
    found = (payload_of(record) for record in load(stage.opened.log.path).records)
    return [payload for payload in found if isinstance(payload, kind)]


def blocks(turns: Sequence[Turn]) -> set[str]:
    return {repr(block) for turn in turns for block in turn.content}


def check_log_agrees(stage: ContextStage) -> None:
    task = stage.logged().current
    assert task is not None and task.conversation().turns == stage.kept


def test_undoing_a_condensation_brings_back_exactly_what_was_there(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start("The task.")
        await stage.until_ask("completion_result")
        before = stage.kept
        await condense(stage)
        assert len(stage.kept) < len(before)
        assert isinstance(await stage.submit(RestoreContext()), Accepted)
        event = await stage.until(lambda event: isinstance(event, ContextReduced) and event.how == "restored")
        assert isinstance(event, ContextReduced) and event.new_context_tokens > event.prev_context_tokens
        assert stage.kept == before
        assert stage.state is AgentState.IDLE, "it still waits to be talked to"
        task = stage.logged().current
        assert task is not None and task.context_tokens == 9_010, "what the last request counted holds again"
        check_log_agrees(stage)
        await stage.answer("messageResponse", "Go on.")
        await stage.until_ask("completion_result")
        check_sendable(stage.asked[-1].turns)
        assert list(stage.asked[-1].turns[: len(before)]) == before
        (restored,) = payloads(stage, RestoreRecord)
        assert restored.id.startswith("condense-")

    counted = {**DONE, "usage": {"input": 9_000, "output": 10}}
    play_in_small_window(workspace, [reading("a.txt"), reading("b.txt"), counted, SUMMARY, DONE], story)


def test_what_is_brought_back_is_not_condensed_again_at_once(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start("The task.")
        await stage.until_ask("completion_result")
        assert isinstance(await stage.submit(RestoreContext()), Accepted)
        await stage.answer("messageResponse", "Go on.")
        await stage.until_ask("completion_result")
        assert [event.how for event in stage.events_of(ContextReduced)] == ["condensed", "restored"]

    turns = [reading("a.txt"), reading("b.txt", NEARLY_FULL), SUMMARY, DONE, DONE]
    play_in_small_window(workspace, turns, story)


def test_cut_outputs_can_be_brought_back(workspace: Path) -> None:
    write_large(workspace)

    async def story(stage: ContextStage) -> None:
        await stage.start("Look.")
        await stage.until_ask("completion_result")
        assert "Left out to make room" in words(stage.kept)
        assert isinstance(await stage.submit(RestoreContext()), Accepted)
        assert "Left out to make room" not in words(stage.kept)
        check_log_agrees(stage)
        assert isinstance(await stage.submit(RestoreContext()), Refused)

    play_in_small_window(workspace, [*many_reads(last=NEARLY_FULL), DONE], story)


def test_what_does_not_fit_any_more_and_what_is_unknown_is_refused(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt", "c.txt")

    async def story(stage: ContextStage) -> None:
        refused = await stage.submit(RestoreContext())
        assert isinstance(refused, Refused) and refused.code == "no_active_task"
        await stage.start("The task.")
        await stage.until_ask("completion_result")
        kept = stage.kept
        refused = await stage.submit(RestoreContext(id="condense-1"))
        assert isinstance(refused, Refused) and "What can be undone: condense-" in refused.message
        refused = await stage.submit(RestoreContext())
        assert isinstance(refused, Refused) and "there is room for only 50,000" in refused.message
        assert stage.kept == kept

    turns = [reading("b.txt"), reading("a.txt"), reading("c.txt", OVER_FULL), SUMMARY, DONE]
    play_in_small_window(workspace, turns, story)


def test_a_preview_tells_what_stays_what_is_summarised_and_what_goes(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start("The task.")
        await stage.until_ask("completion_result")
        await stage.submit(PinTurn(turn=2))
        told = await preview(stage)
        fates = {(entry.turn, entry.kind): entry.fate for entry in told.entries if entry.title != "reasoning"}
        assert fates[None, LedgerKind.SYSTEM] is Fate.KEPT
        assert fates[0, LedgerKind.PERSON] is Fate.KEPT
        assert fates[1, LedgerKind.MODEL] is fates[2, LedgerKind.FILE] is Fate.PINNED
        assert fates[3, LedgerKind.MODEL] is fates[4, LedgerKind.FILE] is Fate.SUMMARISED
        assert fates[5, LedgerKind.MODEL] is Fate.KEPT
        assert [entry.fate for entry in told.entries if entry.title == "reasoning"] == [Fate.LEFT_OUT]
        assert sum(entry.tokens for entry in told.entries) == told.prev_context_tokens > told.kept_tokens
        before = stage.kept
        await condense(stage)
        # What was foretold is what happened.
        assert stage.kept[1:3] == before[1:3]
        assert stage.kept[-1] == before[-1]
        check_log_agrees(stage)

    thinking = {**reading("b.txt"), "reasoning": "Hm, hm."}
    play_in_small_window(workspace, [reading("a.txt"), thinking, DONE, SUMMARY], story)


def test_pinned_turns_survive_condensing_twice_and_the_sliding_window(workspace: Path) -> None:
    write_files(workspace, *(f"{name}.txt" for name in "bcdefg"))

    async def story(stage: ContextStage) -> None:
        await stage.start("The task.")
        await stage.until_ask("completion_result")
        pinned = blocks(stage.kept[1:3])
        assert isinstance(await stage.submit(PinTurn(turn=1)), Accepted)
        for _ in range(2):
            await condense(stage)
            await stage.answer("messageResponse", SECOND)
            await stage.until_ask("completion_result")
            assert pinned <= blocks(stage.kept)
            check_sendable(stage.asked[-1].turns)
        await stage.answer("messageResponse", "Over the top.")
        await stage.until_ask("completion_result")
        assert stage.events_of(ContextReduced)[-1].how == "truncated"
        assert pinned <= blocks(stage.kept)
        check_sendable(stage.asked[-1].turns)
        check_log_agrees(stage)
        assert isinstance(await stage.submit(PinTurn(turn=1, is_pinned=False)), Accepted)
        await condense(stage)
        assert not pinned & blocks(stage.kept)
        assert [(pin.turn, pin.is_pinned) for pin in payloads(stage, PinRecord)] == [(1, True), (1, False)]

    first = [reading("b.txt"), reading("c.txt"), DONE]
    second, third = [SUMMARY, reading("d.txt"), DONE], [SUMMARY, reading("e.txt"), DONE]
    fourth = [reading("f.txt"), reading("g.txt", OVER_FULL), EMPTY, DONE, SUMMARY]
    play_in_small_window(workspace, [*first, *second, *third, *fourth], story)


EMPTY = {"text": "<summary></summary>"}


def test_a_turn_that_is_not_shown_cannot_be_pinned(workspace: Path) -> None:
    async def story(stage: ContextStage) -> None:
        assert isinstance(await stage.submit(PinTurn(turn=0)), Refused)
        await stage.start()
        await stage.until_ask("completion_result")
        refused = await stage.submit(PinTurn(turn=9))
        assert isinstance(refused, Refused) and refused.code == "unknown_turn"
        refused = await stage.submit(CondensePreviewRequest())
        assert isinstance(refused, Refused) and refused.code == "nothing_to_condense"

    play_in_small_window(workspace, [DONE], story)
