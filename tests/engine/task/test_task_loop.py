"""The loop: how a task goes from prompt to completion, and what keeps it from going astray."""

from pathlib import Path
from typing import Any

import pytest

from robota.protocol.asks.ask import MistakeKind, MistakesAsk
from robota.protocol.commands import AskResponse, NewTask, Refused
from robota.protocol.conversation import AssistantTurn, ToolUseBlock
from robota.protocol.events import (
    MessageCreated,
    TaskAborted,
    TaskCompleted,
    TaskCreated,
    TaskPaused,
    TaskSpawned,
    TaskUnpaused,
    TextDelta,
    TodosUpdated,
    ToolEnd,
    TurnReply,
    TurnResults,
)
from robota.protocol.state import AgentState
from tests.engine.stage import Stage, call, play, tool_results


def test_implicit_completion_takes_a_reply_without_calls_as_the_answer(workspace: Path) -> None:
    (workspace / "a.txt").write_text("alpha\n")

    async def story(stage: Stage) -> None:
        await stage.start("What is in a.txt?")
        await stage.until_ask("completion_result")
        assert stage.says("text") == ["What is in a.txt?", "Reading.", "It says alpha."]
        assert stage.state is AgentState.IDLE
        assert "alpha" in tool_results(stage)[0].content

    turns = [
        {"text": "Reading.", "calls": [call("read_file", path="a.txt")]},
        {"expect": {"result": "alpha"}, "text": "It says alpha."},
    ]
    play(workspace, turns, story)


def test_explicit_completion_corrects_a_reply_without_calls(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert stage.says("completion_result") == ["All done."]

    turns = [
        {"text": "I think I am done."},
        {"expect": {"user": "did not use a tool"}, "calls": [call("attempt_completion", result="All done.")]},
    ]
    play(workspace, turns, story, completion="explicit")


def test_attempt_completion_ends_an_implicit_task_too(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert stage.says("completion_result") == ["Done."]
        assert len(stage.events_of(TaskCompleted)) == 1

    play(workspace, [{"calls": [call("attempt_completion", result="Done.")]}], story)


def test_completion_is_refused_when_another_call_of_the_reply_failed(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert stage.says("completion_result") == ["Now."]
        first = tool_results(stage)[1]
        assert first.is_error
        assert "not completed" in first.content

    turns = [
        {"calls": [call("read_file", path="missing.txt"), call("attempt_completion", result="Lie.")]},
        {"calls": [call("attempt_completion", result="Now.")]},
    ]
    play(workspace, turns, story)


def test_feedback_on_a_completed_task_continues_it(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        await stage.answer("messageResponse", "And now in French.")
        await stage.until_ask("completion_result")
        assert stage.says("text")[-1] == "Bonjour."
        assert stage.says("user_feedback") == ["And now in French."]

    play(workspace, [{"text": "Hello."}, {"expect": {"user": "French"}, "text": "Bonjour."}], story)


def test_yes_on_a_completed_task_ends_it_and_a_new_one_may_start(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        first = await stage.start("one")
        await stage.until_ask("completion_result")
        await stage.answer("yesButtonClicked")
        second = await stage.start("two")
        await stage.until_ask("completion_result")
        assert first != second
        assert stage.logged().tasks[first].outcome == "completed"

    play(workspace, [{"text": "One."}, {"expect": {"turns": 1}, "text": "Two."}], story)


def test_a_second_task_is_refused_while_one_runs(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("followup")
        receipt = await stage.submit(AskResponse(ask_response="maybe"))
        assert isinstance(receipt, Refused)
        busy = await stage.submit(NewTask(text="another"))
        assert isinstance(busy, Refused) and busy.code == "task_busy"

    play(workspace, [{"calls": [call("ask_followup_question", question="Which?", follow_up=[{"text": "A"}])]}], story)


def test_three_mistakes_in_a_row_stop_the_task_and_guidance_continues_it(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("mistake_limit_reached")
        assert stage.state is AgentState.IDLE
        await stage.answer("messageResponse", "Use attempt_completion.")
        await stage.until_ask("completion_result")

    turns = [
        {"text": "Hm {n}.", "repeat": 3},
        {
            "expect": {"user": "The user says: Use attempt_completion."},
            "calls": [call("attempt_completion", result="ok")],
        },
    ]
    play(workspace, turns, story, completion="explicit")


@pytest.mark.parametrize("limit", [1, 5])
def test_the_number_of_mistakes_before_the_user_is_asked_is_a_setting(workspace: Path, limit: int) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("mistake_limit_reached")
        assert len([row for row in stage.rows if row.say == "api_req_started"]) == limit

    turns = [{"text": "Hm {n}.", "repeat": 9}]
    play(workspace, turns, story, completion="explicit", settings={"mistakeLimit": limit})


def test_with_a_mistake_limit_of_nought_the_user_is_never_asked(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")

    turns = [{"text": "Hm {n}.", "repeat": 9}, {"calls": [call("attempt_completion", result="ok")]}]
    play(workspace, turns, story, completion="explicit", settings={"mistakeLimit": 0})


def test_looking_for_what_is_not_there_is_no_mistake(workspace: Path) -> None:
    """Five replies in a row that only miss something: each is a different look-up, as when a model finds its way."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert all(result.is_error for result in tool_results(stage))

    misses = {"calls": [call("read_file", path="{n}.txt"), call("list_files", path="{n}")], "repeat": 5}
    play(workspace, [misses, {"text": "There are none."}], story)


def test_the_same_failing_call_again_and_again_is_a_mistake(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("mistake_limit_reached")
        assert len(tool_results(stage)) == 6  # three reads, each made twice: the second time shows confusion

    again = [{"calls": [call("read_file", path=f"{number}.txt")], "repeat": 2} for number in range(4)]
    play(workspace, again, story)


def test_after_a_change_the_same_call_may_fail_again(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")

    miss = {"calls": [call("read_file", path="a.txt")]}
    changes = [{"calls": [call("write_to_file", path=f"{n}.txt", content="x")]} for n in range(4)]
    turns = [step for change in changes for step in (miss, change)]
    play(workspace, [*turns, {"text": "done"}], story, permission_mode="acceptEdits")


def test_a_success_between_mistakes_resets_the_count(workspace: Path) -> None:
    (workspace / "a.txt").write_text("x")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")

    bad, good = {"calls": [call("no_such_tool", n="{n}")], "repeat": 2}, {"calls": [call("read_file", path="a.txt")]}
    play(workspace, [bad, good, bad, {"text": "done"}], story)


def test_the_fourth_identical_call_is_stopped(workspace: Path) -> None:
    (workspace / "a.txt").write_text("x")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        results = tool_results(stage)
        assert [result.is_error for result in results] == [False, False, False, True]
        assert "repetition limit" in results[3].content

    turns = [{"calls": [call("read_file", path="a.txt")], "repeat": 4}, {"text": "done"}]
    play(workspace, turns, story, attended=False)


def test_a_call_that_the_user_wants_again_is_no_repetition(workspace: Path) -> None:
    (workspace / "a.txt").write_text("x")

    async def story(stage: Stage) -> None:
        await stage.start()
        for _ in range(5):
            await stage.until_ask("completion_result")
            await stage.answer("messageResponse", "read it again")
        await stage.until_ask("completion_result")
        assert [result.is_error for result in tool_results(stage)] == [False] * 6

    play(workspace, [{"calls": [call("read_file", path="a.txt")]}, {"text": "done"}] * 6, story)


CIRCLES = {
    "one call": [{"calls": [call("read_file", path="a.txt")], "repeat": 300}],
    "one call and another one now and then": [
        {"calls": [call("read_file", path="a.txt")], "repeat": 4},
        {"calls": [call("read_file", path="b.txt")]},
    ]
    * 60,
    "two calls in turns": [{"calls": [call("read_file", path=name)]} for name in ("a.txt", "b.txt")] * 150,
}


@pytest.mark.parametrize("turns", CIRCLES.values(), ids=CIRCLES)
def test_a_model_that_goes_round_in_circles_is_stopped_where_nobody_can_answer(
    workspace: Path, turns: list[dict[str, Any]]
) -> None:
    """The repeated call is refused, then warned about, then ends the task with its own reason."""
    for name in ("a.txt", "b.txt"):
        (workspace / name).write_text("x")

    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("mistake_limit_reached")
        assert isinstance(ask.asked, MistakesAsk) and ask.asked.mistake is MistakeKind.REPEATED_CALL
        results = tool_results(stage)
        assert len(results) < 40
        assert sum("last warning" in result.content for result in results) == 1

    play(workspace, turns, story, attended=False)


def test_words_at_the_repetition_reach_the_model_and_a_no_ends_the_task(workspace: Path) -> None:
    (workspace / "a.txt").write_text("x")
    turns = [{"calls": [call("read_file", path="a.txt")], "repeat": 4}, {"text": "done"}]

    async def words(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("mistake_limit_reached")
        await stage.answer("messageResponse", "look at b.txt instead")
        await stage.until_ask("completion_result")
        assert "look at b.txt instead" in tool_results(stage)[-1].content

    async def no(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("mistake_limit_reached")
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")
        assert "user stopped the task" in tool_results(stage)[-1].content and "done" not in stage.says("text")

    play(workspace, turns, words)
    play(workspace, turns, no)


def test_a_task_cannot_start_in_a_mode_that_does_not_exist(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        receipt = await stage.submit(NewTask(text="go", mode="no-such-mode"))
        assert isinstance(receipt, Refused) and "architect" in receipt.message

    play(workspace, [{"text": "done"}], story)


def test_the_turn_limit_counts_requests_and_asks(workspace: Path) -> None:
    (workspace / "a.txt").write_text("x")

    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("auto_approval_max_req_reached")
        assert ask.text == '{"count": 2, "type": "requests"}'
        assert len(stage.events_of(TurnReply)) == 2
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")

    turns = [{"calls": [call("list_files", path=".", recursive="{n}")], "repeat": 2}, {"text": "done"}]
    play(workspace, turns, story, max_turns=2)


def test_the_budget_is_asked_about_when_it_is_used_up_and_a_yes_grants_it_again(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("auto_approval_max_req_reached")
        assert ask.text == '{"count": "1.00", "type": "cost"}'
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")

    step = {"calls": [call("list_files", path=".", recursive="{n}")], "usage": {"cost": 0.5}, "repeat": 3}
    play(workspace, [step, {"text": "done"}], story, max_cost=1.0)


def test_a_cut_reply_is_continued_and_read_as_one(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert stage.says("text")[1:] == ["The answer is for", "ty-two."]
        assert stage.says("completion_result") == ["The answer is forty-two."]

    turns = [
        {"text": "The answer is for", "finish": "max_tokens"},
        {"expect": {"user": "cut off at the output limit"}, "text": "ty-two."},
    ]
    play(workspace, turns, story)


def test_a_subtask_is_isolated_and_its_result_comes_back(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        parent = await stage.start("big work")
        await stage.until_ask("completion_result")
        spawned = stage.events_of(TaskSpawned)[0]
        assert spawned.task_id == parent
        assert [event.parent_task_id for event in stage.events_of(TaskCreated)] == [None, parent]
        assert len(stage.events_of(TaskPaused)) == len(stage.events_of(TaskUnpaused)) == 1
        results = tool_results(stage)
        assert results[0].content == "The subtask is complete. Its result:\n\nsmall result"
        assert results[1].is_error and "new_task was called" in results[1].content
        assert not (workspace / "never.txt").exists()
        assert stage.says("subtask_result") == ["small result"]

    turns = [
        {
            "calls": [
                call("new_task", mode="code", message="small work"),
                call("write_to_file", path="never.txt", content="x"),
            ]
        },
        {"expect": {"user": "small work", "turns": 1}, "calls": [call("attempt_completion", result="small result")]},
        {"expect": {"result": "small result"}, "text": "All done."},
    ]
    play(workspace, turns, story, permission_mode="bypassPermissions")


def test_the_todo_list_is_shown_and_logged(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        todos = stage.events_of(TodosUpdated)[-1].todos
        assert [(item.content, item.status) for item in todos] == [("look", "completed"), ("mend", "in_progress")]
        task = stage.logged().current
        assert task is not None and task.todos == todos

    play(workspace, [{"calls": [call("update_todo_list", todos="[x] look\n[-] mend")]}, {"text": "ok"}], story)


def test_a_followup_question_waits_for_words(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("followup")
        assert ask.text is not None and '"question":"Which colour?"' in ask.text.replace('": "', '":"')
        assert stage.state is AgentState.WAITING_FOR_INPUT
        await stage.answer("messageResponse", "blue", ts=ask.ts)
        await stage.until_ask("completion_result")

    turns = [
        {"calls": [call("ask_followup_question", question="Which colour?", follow_up=[{"text": "red"}])]},
        {"expect": {"result": "blue"}, "text": "Blue it is."},
    ]
    play(workspace, turns, story)


def test_events_and_log_tell_the_same_story(workspace: Path) -> None:
    (workspace / "a.txt").write_text("x\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        task = stage.logged().current
        assert task is not None
        assert list(task.messages) == list(stage.rows)
        replies = [event.reply for event in stage.events_of(TurnReply)]
        assert [turn for turn in task.conversation().turns if isinstance(turn, AssistantTurn)] == replies
        last = stage.says("text")[-1]
        begun = next(e.message for e in stage.events_of(MessageCreated) if last.startswith(e.message.text or "?"))
        deltas = [event.delta for event in stage.events_of(TextDelta) if event.ts == begun.ts]
        assert "".join([begun.text or "", *deltas]) == last
        ids = [b.id for reply in replies for b in reply.content if isinstance(b, ToolUseBlock)]
        assert ids == [result.tool_use_id for event in stage.events_of(TurnResults) for result in event.results]
        assert [event.status for event in stage.events_of(ToolEnd)] == ["success", "success"]
        assert not stage.events_of(TaskAborted)

    turns = [
        {
            "reasoning": "Think.",
            "text": "Two reads.",
            "calls": [call("read_file", path="a.txt"), call("list_files", path=".")],
        },
        {"text": "Finished after a long enough sentence to be streamed in several pieces."},
    ]
    play(workspace, turns, story)
