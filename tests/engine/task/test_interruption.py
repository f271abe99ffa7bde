"""Cancelling at any point leaves everything in order: no open call, no streaming row, a task that can go on."""

from itertools import zip_longest
from pathlib import Path

import pytest

from robota.protocol.commands import Accepted, CancelTask, ClearTask, Refused, RetryNow, TerminalOperation
from robota.protocol.conversation import AssistantTurn, ToolResultBlock, UserTurn
from robota.protocol.events import (
    Event,
    MessageCreated,
    PartialMessage,
    RetryScheduled,
    State,
    TaskAborted,
    TextDelta,
    ToolEnd,
    ToolStart,
)
from robota.protocol.state import AgentState, detect_agent_state
from tests.engine.stage import Stage, call, play, tool_results

SLOW = {"calls": [call("execute_command", command="echo started; exec sleep 60")]}
GO_ON = {"expect": {"user": "RESUMPTION"}, "text": "Going on."}


def has_output(event: Event) -> bool:
    return isinstance(event, MessageCreated) and event.message.say == "command_output"


def test_cancel_in_mid_answer_keeps_what_came_and_resumes(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until(lambda event: isinstance(event, TextDelta))
        assert isinstance(await stage.submit(CancelTask()), Accepted)
        await stage.until_ask("resume_task")
        assert stage.state is AgentState.RESUMABLE
        cut = [row for row in stage.rows if row.interrupted]
        assert cut and all(row.partial is False for row in stage.rows if row.partial is not None)
        task = stage.logged().current
        assert task is not None
        last = task.context.last
        assert isinstance(last, AssistantTurn) and "interrupted by the user" in last.text
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert stage.says("text")[-1] == "Going on."

    turns = [{"text": "word " * 400, "chunkSize": 4, "chunkDelayMs": 5}, GO_ON]
    play(workspace, turns, story)


def test_cancel_in_a_command_kills_it_and_answers_the_call(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until(has_output)
        await stage.submit(CancelTask())
        await stage.until_ask("resume_task")
        assert stage.events_of(ToolEnd)[-1].status == "interrupted"
        assert stage.events_of(TaskAborted)
        (result,) = tool_results(stage)
        assert result.is_error and "interrupted" in result.content
        await stage.answer("messageResponse", "Leave it.")
        await stage.until_ask("completion_result")

    turns = [SLOW, {"expect": {"user": "Leave it."}, "text": "ok"}]
    play(workspace, turns, story, permission_mode="bypassPermissions")


def test_cancel_while_asking_withdraws_the_ask(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("tool")
        await stage.submit(CancelTask())
        await stage.until_ask("resume_task")
        late = await stage.answer("yesButtonClicked", ts=ask.ts)
        assert isinstance(late, Refused)
        assert not (workspace / "x").exists()

    play(workspace, [{"calls": [call("write_to_file", path="x", content="y")]}], story)


def test_cancel_in_the_pause_before_a_retry(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until(lambda event: isinstance(event, RetryScheduled))
        await stage.submit(CancelTask())
        await stage.until_ask("resume_task")
        delayed = [row for row in stage.rows if row.say == "api_req_retry_delayed"]
        assert delayed[0].partial is False

    play(workspace, [{"fault": {"kind": "rate_limit", "retryAfter": 60}}], story)


def test_retry_now_ends_the_pause(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until(lambda event: isinstance(event, RetryScheduled))
        await stage.submit(RetryNow())
        await stage.until_ask("completion_result")

    play(workspace, [{"fault": {"kind": "rate_limit", "retryAfter": 60}}, {"text": "There."}], story)


def test_cancel_in_a_subtask_returns_to_the_parent(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        parent = await stage.start()
        await stage.until(has_output)
        await stage.submit(CancelTask())
        ask = await stage.until(lambda e: isinstance(e, MessageCreated) and e.message.ask == "resume_task")
        assert isinstance(ask, MessageCreated) and ask.task_id == parent
        assert stage.events_of(State)[-1].state.current_task_id == parent
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")

    turns = [{"calls": [call("new_task", mode="code", message="sub")]}, SLOW, GO_ON]
    play(workspace, turns, story, permission_mode="bypassPermissions")


def test_clear_ends_the_task_and_shows_none(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        first = await stage.start()
        await stage.until(has_output)
        await stage.submit(ClearTask())
        event = await stage.until(lambda e: isinstance(e, State) and e.state.current_task_id is None)
        assert isinstance(event, State) and event.state.cline_messages == ()
        assert detect_agent_state(stage.rows).state is AgentState.NO_TASK
        assert stage.logged().tasks[first].outcome == "interrupted"
        await stage.start("again")
        await stage.until_ask("completion_result")

    turns = [SLOW, {"expect": {"turns": 1}, "text": "fresh"}]
    play(workspace, turns, story, permission_mode="bypassPermissions")


def test_abort_ends_the_command_but_not_the_task(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        nothing = await stage.submit(TerminalOperation(terminal_operation="abort"))
        assert isinstance(nothing, Refused)
        await stage.start()
        await stage.until(has_output)
        await stage.submit(TerminalOperation(terminal_operation="abort"))
        await stage.until_ask("completion_result")
        (result,) = tool_results(stage)
        assert "SIGTERM" in result.content

    play(workspace, [SLOW, {"text": "It was stopped."}], story, permission_mode="bypassPermissions")


def test_a_command_that_the_user_moves_goes_on_in_the_background_and_can_be_read_there(workspace: Path) -> None:
    command = "echo begun; until [ -e go ]; do sleep 0.05; done; echo ended"

    async def story(stage: Stage) -> None:
        nothing = await stage.submit(TerminalOperation(terminal_operation="background"))
        assert isinstance(nothing, Refused) and nothing.code == "no_command"
        await stage.start()
        await stage.until(has_output)
        await stage.submit(TerminalOperation(terminal_operation="background"))
        await stage.until_ask("completion_result")
        moved, _, read = tool_results(stage)
        assert "The user moved it to the background. It continues as background process bg1" in moved.content
        assert "begun" in moved.content and "ended" in read.content

    turns = [
        {"calls": [call("execute_command", command=command)]},
        {"calls": [call("write_to_file", path="go", content="")]},
        {"calls": [call("background_process", action="read", id="bg1", wait=30)]},
        {"text": "Done."},
    ]
    play(workspace, turns, story, permission_mode="bypassPermissions")


def test_nothing_to_cancel_is_refused(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        assert isinstance(await stage.submit(CancelTask()), Refused)

    play(workspace, [], story)


@pytest.mark.parametrize("nth", range(0, 40, 3))
def test_cancel_after_any_event_leaves_a_history_that_can_be_sent(workspace: Path, nth: int) -> None:
    (workspace / "a.txt").write_text("x\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        seen = 0

        def enough(event: Event) -> bool:
            nonlocal seen
            seen += 1
            ended = isinstance(event, MessageCreated) and event.message.ask is not None
            return seen > nth or ended

        await stage.until(enough)
        if not isinstance(await stage.submit(CancelTask()), Accepted):
            return
        ends = ("resume_task", "completion_result")
        await stage.until(lambda e: isinstance(e, MessageCreated) and e.message.ask in ends)
        assert not any(row.partial for row in stage.rows)
        task = stage.logged().current
        assert task is not None
        turns = [piece.turn for piece in task.context.pieces]
        for before, after in zip_longest(turns, turns[1:]):
            if isinstance(before, AssistantTurn) and before.tool_uses:
                assert isinstance(after, UserTurn)
                results = [block.tool_use_id for block in after.content if isinstance(block, ToolResultBlock)]
                assert results == [use.id for use in before.tool_uses]
        starts = {event.call_id for event in stage.events_of(ToolStart)}
        assert starts == {event.call_id for event in stage.events_of(ToolEnd)}

    turns = [
        {
            "reasoning": "hm",
            "text": "Reading and writing.",
            "calls": [
                call("read_file", path="a.txt"),
                call("list_files", path="."),
                call("execute_command", command="printf one; printf two"),
            ],
        },
        {"text": "The end."},
    ]
    play(workspace, turns, story, permission_mode="bypassPermissions")


def test_a_client_that_joins_in_mid_answer_sees_all_of_it(workspace: Path) -> None:
    text = " ".join(f"word{number}" for number in range(60))

    async def story(stage: Stage) -> None:
        await stage.start()
        for _ in range(5):
            await stage.until(lambda event: isinstance(event, TextDelta | PartialMessage))
        late = Stage(stage.opened)
        await late.until(lambda event: isinstance(event, State))
        pieces = [late.rows[-1].text or ""]
        while True:
            event = await late.until(lambda e: True)
            if isinstance(event, TextDelta):
                pieces.append(event.delta)
            elif isinstance(event, MessageCreated) and event.message.ask is not None:
                break
        assert "".join(pieces) == text

    play(workspace, [{"text": text, "chunkSize": 8, "chunkDelayMs": 2}], story)
