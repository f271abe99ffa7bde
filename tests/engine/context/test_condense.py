"""A conversation that nears the end of the window is condensed, visibly, and the task goes on by itself."""

from pathlib import Path
from typing import Any

import pytest

from robota.log.chain.growth import records_of
from robota.log.kinds.conversation import CondenseRecord
from robota.log.record import payload_as
from robota.protocol.commands import CancelTask, SetPermissionMode
from robota.protocol.events import ContextReduced, ContextUpdate, MessageCreated, TaskTokenUsageUpdated
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.state import AgentState
from tests.engine.context.context_stage import (
    DONE,
    NEARLY_FULL,
    SUMMARY,
    ContextStage,
    check_sendable,
    play_in_small_window,
    reading,
    words,
    write_files,
)
from tests.engine.stage import call

TODOS = {"calls": [call("update_todo_list", todos="[x] read\n[-] write")]}
EDIT = {"calls": [call("write_to_file", path="new.txt", content="text\n")]}


def test_nearly_full_is_condensed_before_the_next_request(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start("Rewrite the parser.\nKeep the tests.")
        await stage.until_ask("completion_result")
        summarising, after = stage.asked[-2:]
        assert (summarising.system, summarising.tools) == (after.system, after.tools)
        assert "<condense_request>" in words(summarising.turns[-1:])
        check_sendable(summarising.turns)
        check_sendable(after.turns)
        first, reply, results = after.turns
        assert "Rewrite the parser.\nKeep the tests." in [getattr(block, "text", "") for block in first.content]
        assert "The parser was rewritten." in words([first])
        assert "# Files changed so far\n\n- new.txt" in words([first])
        assert "# Files read so far\n\n- a.txt\n- b.txt" in words([first])
        assert "[x] read\n[-] write" in words([first])
        assert "Looking at b.txt." in words([reply]) and "b.txt\n" in words([results])
        assert after.tools == stage.asked[0].tools

    turns = [TODOS, EDIT, reading("a.txt"), reading("b.txt", NEARLY_FULL), SUMMARY, DONE]
    play_in_small_window(workspace, turns, story, permission_mode="bypassPermissions")


def test_the_row_tells_cost_sizes_and_summary_and_the_meter_follows(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        told = stage.row("condense_context").context_condense
        assert told is not None and stage.row("condense_context").partial is False
        assert (told["cost"], told["summary"]) == (0.5, "The parser was rewritten.")
        assert told["prevContextTokens"] > 42_000 > told["newContextTokens"] > 0
        (event,) = stage.events_of(ContextReduced)
        assert (event.how, event.trigger) == ("condensed", "auto")
        assert event.new_context_tokens == told["newContextTokens"]
        assert told["newContextTokens"] in [update.used_tokens for update in stage.events_of(ContextUpdate)]
        assert stage.events_of(TaskTokenUsageUpdated)[-1].token_usage.total_cost == 0.5
        task = stage.logged().current
        assert task is not None
        assert task.context.undoable == [told["condenseId"]]
        (record,) = records_of(stage.opened.log.path, ["condense"])
        payload = payload_as(CondenseRecord, record)
        assert payload is not None and payload.read_files == ("a.txt", "b.txt")

    play_in_small_window(workspace, [reading("a.txt"), reading("b.txt", NEARLY_FULL), SUMMARY, DONE], story)


def test_reading_the_log_gives_the_history_that_is_sent(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt", "c.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        task = stage.logged().current
        assert task is not None and len(task.context.reduction_ids) == 2
        assert task.conversation().turns == stage.kept
        assert task.context.recorded == 10

    full = [reading("b.txt", NEARLY_FULL), SUMMARY, reading("c.txt", NEARLY_FULL), SUMMARY]
    play_in_small_window(workspace, [reading("a.txt"), *full, reading("b.txt"), DONE], story)


def test_every_word_of_the_user_survives_two_condensations(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start("First wish.")
        await stage.until_ask("completion_result")
        await stage.answer("messageResponse", "Second wish.")
        await stage.until_ask("followup")
        await stage.answer("messageResponse", "An answer.")
        await stage.until_ask("completion_result")
        await stage.answer("messageResponse", "Third wish.")
        await stage.until_ask("completion_result")
        said = words(stage.asked[-1].turns)
        assert [said.count(wish) for wish in ("First wish.", "Second wish.", "Third wish.", "An answer.")] == [1] * 4
        assert said.index("First") < said.index("Second") < said.index("An answer.") < said.index("Third")
        assert said.count("# Summary of the conversation so far") == 1

    question = {"calls": [call("ask_followup_question", question="Which?", follow_up=[{"text": "x"}])]}
    first = [reading("a.txt"), {**DONE, "usage": NEARLY_FULL}]
    second = [SUMMARY, question, reading("b.txt"), {**DONE, "usage": NEARLY_FULL}, SUMMARY, DONE]
    play_in_small_window(workspace, [*first, *second], story)


def test_words_said_while_it_worked_are_kept_whole_beside_the_last_results(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        await stage.answer("messageResponse", "And one more thing.")
        await stage.until_ask("completion_result")
        assert words(stage.asked[-1].turns[-1:]) == "And one more thing."

    turns = [reading("a.txt"), reading("b.txt"), {**DONE, "usage": NEARLY_FULL}, SUMMARY, DONE]
    play_in_small_window(workspace, turns, story)


def test_nothing_is_condensed_below_the_threshold_or_without_one(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert len(stage.asked) == 3
        assert stage.events_of(ContextReduced) == []

    turns = [reading("a.txt"), reading("b.txt", NEARLY_FULL), DONE]
    play_in_small_window(workspace, turns, story, settings={"autoCompactThreshold": 0.99})
    play_in_small_window(workspace, turns, story, settings={"autoCompactThreshold": False})


@pytest.mark.parametrize(
    "bad",
    [{"text": "<summary> </summary>"}, {"fault": {"kind": "authentication_failed"}}, {"text": "long " * 20_000}],
    ids=["empty", "refused", "too long"],
)
def test_a_summary_that_is_no_use_changes_nothing_and_says_so(workspace: Path, bad: dict[str, Any]) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "was not condensed and stays as it is" in (stage.row("condense_context_error").text or "")
        assert stage.asked[-1].turns[:3] == stage.asked[1].turns
        task = stage.logged().current
        assert task is not None and not task.context.reduction_ids

    turns = [reading("a.txt"), reading("b.txt", NEARLY_FULL), bad, DONE]
    play_in_small_window(workspace, turns, story)


def test_a_failed_summary_is_not_asked_for_again_at_once(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert len(stage.says("condense_context_error")) == 1

    empty = {"text": "<summary></summary>"}
    small = [{"calls": [call("list_files", path=".")], "usage": NEARLY_FULL}]
    turns = [reading("a.txt"), reading("b.txt", NEARLY_FULL), empty, *small, DONE]
    play_in_small_window(workspace, turns, story)


def test_a_passing_fault_of_the_summary_is_tried_again(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert stage.row("condense_context").context_condense is not None
        assert len(stage.says("api_req_retry_delayed")) == 1

    overloaded = {"fault": {"kind": "overloaded"}}
    play_in_small_window(workspace, [reading("a.txt"), reading("b.txt", NEARLY_FULL), overloaded, SUMMARY, DONE], story)


def test_a_subtask_has_a_window_of_its_own(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        parent = await stage.start("The parent's task.")
        await stage.until_ask("completion_result")
        tasks = stage.logged().tasks
        (child,) = (task for task in tasks.values() if task.parent_task_id == parent)
        assert len(child.context.reduction_ids) == 1 and not tasks[parent].context.reduction_ids
        assert "The child's task." in words(child.conversation().turns[:1])

    delegate = {"calls": [call("new_task", mode="code", message="The child's task.")]}
    ending = {"calls": [call("attempt_completion", result="Found it.")]}
    turns = [delegate, reading("a.txt"), reading("b.txt", NEARLY_FULL), SUMMARY, ending, DONE]
    play_in_small_window(workspace, turns, story)


def test_cancelled_in_the_middle_of_the_summary_nothing_is_half_done(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until(lambda e: isinstance(e, MessageCreated) and e.message.say == "condense_context")
        assert stage.state is AgentState.STREAMING
        await stage.submit(CancelTask())
        await stage.until_ask("resume_task")
        row = stage.row("condense_context")
        assert row.interrupted and row.partial is False and row.context_condense is None
        task = stage.logged().current
        assert task is not None and not task.context.reduction_ids
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        check_sendable(stage.asked[-1].turns)

    slow = {**SUMMARY, "delayMs": 60_000}
    play_in_small_window(workspace, [reading("a.txt"), reading("b.txt", NEARLY_FULL), slow, SUMMARY, DONE], story)


def test_the_xml_form_is_condensed_too(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start("The task.")
        await stage.until_ask("completion_result")
        assert "The parser was rewritten." in words(stage.asked[-1].turns[:1])
        assert [type(turn).__name__ for turn in stage.asked[-1].turns] == ["UserTurn", "AssistantTurn", "UserTurn"]

    def xml(path: str, **more: Any) -> dict[str, Any]:
        return {"text": f"<read_file>\n<path>{path}</path>\n</read_file>", **more}

    turns = [xml("a.txt"), xml("b.txt", usage=NEARLY_FULL), SUMMARY, DONE]
    play_in_small_window(workspace, turns, story, profile_options={"toolFormat": "xml"})


def test_planted_facts_survive_two_condensations(workspace: Path) -> None:
    """What the engine keeps does not depend on the model; what only a summary has is asked to be carried over."""
    write_files(workspace, "a.txt", "b.txt", "c.txt", "d.txt")
    wish = "Rewrite the parser. The rules:\n1. Keep `lex()` as it is.\n2. Never touch ünïcode.py.\n3. Port 8417."

    async def story(stage: ContextStage) -> None:
        await stage.start(wish)
        await stage.until_ask("completion_result")
        first, second = [each for each in stage.asked if "<condense_request>" in words(each.turns[-1:])]
        assert "Carry over every fact" not in words(first.turns) and "## Environment" in words(first.turns)
        for kept in ("Commands that work, exactly as typed.", "Branch", "Copy lists item by item."):
            assert kept in words(second.turns[-1:])
        assert "Carry over every fact" in words(second.turns[-1:])
        assert "make check-fast works" in words(second.turns[:1]), "the earlier summary is there to be carried over"
        last = words(stage.asked[-1].turns[:1])
        assert wish in last and "[x] read\n[-] write" in last and "- new.txt" in last
        assert "make check-fast works, 3 tests fail" in last and last.count(wish) == 1

    one = {**SUMMARY, "text": "<summary>make check-fast works.</summary>"}
    two = {**SUMMARY, "text": "<summary>make check-fast works, 3 tests fail.</summary>"}
    turns = [
        *(TODOS, EDIT, reading("a.txt"), reading("b.txt", NEARLY_FULL), one),
        *(reading("c.txt"), reading("d.txt", NEARLY_FULL), two, DONE),
    ]
    play_in_small_window(workspace, turns, story, permission_mode="bypassPermissions")


def test_the_permission_mode_is_told_again_beside_the_summary(workspace: Path) -> None:
    """The reminder of it goes with the turns that are condensed, and the system prompt says how it was before."""
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        await stage.submit(SetPermissionMode(permission_mode=PermissionMode.PLAN))
        await stage.answer("messageResponse", "and now plan")
        await stage.until_ask("completion_result")
        assert "- Permission mode: plan. " in words(stage.asked[1].turns[-1:])
        assert "- Permission mode: plan. " in words(stage.asked[-1].turns[:1])
        assert words(stage.asked[-1].turns).count("- Permission mode: ") == 1

    turns = [{"text": "Hi."}, reading("a.txt"), reading("b.txt", NEARLY_FULL), SUMMARY, DONE]
    play_in_small_window(workspace, turns, story)


def test_a_model_that_calls_a_tool_instead_of_summarising_is_asked_without_tools(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        *_, with_tools, without, after = stage.asked
        assert with_tools.tools and not without.tools and "[call " in words(without.turns)
        assert "The parser was rewritten." in words(after.turns[:1])

    instead = {"calls": [call("read_file", path="a.txt")]}
    turns = [reading("a.txt"), reading("b.txt", NEARLY_FULL), instead, SUMMARY, DONE]
    play_in_small_window(workspace, turns, story)
