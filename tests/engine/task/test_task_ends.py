"""How clients learn that a task has ended, and what one that joins late is told."""

from pathlib import Path

import pytest

from robota.protocol.commands import Accepted, AskResponse, CancelTask, QueueMessage, Refused
from robota.protocol.events import (
    ContextUpdate,
    MessageUpdated,
    State,
    TaskAborted,
    TaskEnded,
    TaskTokenUsageUpdated,
    ToolEnd,
)
from robota.protocol.state import AgentState, RequiredAction
from tests.engine.stage import Stage, call, play, tool_results

PIXEL = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize(
    ("ask", "answer", "outcome"),
    [("completion_result", "yesButtonClicked", "completed"), ("completion_result", "noButtonClicked", "completed")],
)
def test_an_answer_that_ends_the_task_is_followed_by_its_end(
    workspace: Path, ask: str, answer: str, outcome: str
) -> None:
    """Nothing is waiting any more, and clients are told so."""

    async def story(stage: Stage) -> None:
        task = await stage.start()
        await stage.until_ask(ask)
        await stage.answer(answer)
        ended = await stage.until(lambda event: isinstance(event, TaskEnded))
        assert isinstance(ended, TaskEnded) and (ended.task_id, ended.outcome) == (task, outcome)
        assert not stage.events_of(TaskAborted)
        assert stage.tracker.info.required_action is RequiredAction.START_NEW_TASK
        assert stage.tracker.info.current_ask is None

    play(workspace, [{"text": "x"}], story)


def test_a_no_at_resume_ends_the_task(workspace: Path) -> None:
    """An abandoned task has ended, too."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("followup")
        assert isinstance(await stage.submit(CancelTask()), Accepted)
        await stage.until_ask("resume_task")
        await stage.answer("noButtonClicked")
        await stage.until(lambda event: isinstance(event, TaskEnded) and event.outcome == "abandoned")
        assert stage.state is AgentState.IDLE

    play(workspace, [{"calls": [call("ask_followup_question", question="?", follow_up=[{"text": "A"}])]}], story)


def test_a_completed_task_cannot_be_cancelled(workspace: Path) -> None:
    """There is nothing to cancel, and the task stays completed."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        receipt = await stage.submit(CancelTask())
        assert isinstance(receipt, Refused) and receipt.code == "no_active_task"
        await stage.answer("messageResponse", "go on")
        await stage.until_ask("completion_result")

    play(workspace, [{"text": "one"}, {"text": "two"}], story)


def test_a_late_joiner_is_told_usage_context_and_where_the_log_is(workspace: Path) -> None:
    """Events that were sent before it joined are repeated."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        late = stage.session.events()
        state, usage, context = [await anext(late) for _ in range(3)]
        assert isinstance(state, State) and state.state.log_path == str(stage.opened.log.path)
        assert isinstance(usage, TaskTokenUsageUpdated) and usage.token_usage.total_tokens_in == 7
        assert isinstance(context, ContextUpdate) and context.used_tokens == 10

    play(workspace, [{"text": "one", "usage": {"input": 7, "output": 3}}], story)


def test_an_image_in_the_answer_to_a_question_reaches_the_model(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("followup")
        await stage.submit(AskResponse(ask_response="messageResponse", text="this one", images=(PIXEL,)))
        await stage.until_ask("completion_result")
        assert [image.media_type for image in tool_results(stage)[0].images] == ["image/png"]

    question = call("ask_followup_question", question="Which?", follow_up=[{"text": "A"}])
    play(workspace, [{"calls": [question]}, {"text": "done"}], story)


@pytest.mark.parametrize("response", ["yesButtonClicked", "noButtonClicked", "messageResponse", "objectResponse"])
def test_an_image_in_the_answer_to_an_approval_reaches_the_model(workspace: Path, response: str) -> None:
    text = '{"edited": "touch b"}' if response == "objectResponse" else "as in this picture"

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.submit(AskResponse(ask_response=response, text=text, images=(PIXEL,)))
        await stage.until_ask("completion_result")
        assert [image.media_type for image in tool_results(stage)[0].images] == ["image/png"]

    play(workspace, [{"calls": [call("execute_command", command="touch a")]}, {"text": "done"}], story)


@pytest.mark.parametrize("how", ["no", "words"])
def test_a_command_that_takes_its_time_is_an_ask_that_nobody_waits_for(workspace: Path, how: str) -> None:
    """With `command_output`, a user can stop the command or let it continue."""
    wait = "echo begun; while [ ! -e stop ]; do sleep 0.05; done; echo over"

    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("command_output")
        assert stage.state is AgentState.RUNNING
        assert stage.tracker.info.required_action is RequiredAction.CONTINUE_OR_ABORT
        if how == "no":
            assert isinstance(await stage.answer("noButtonClicked", ts=ask.ts), Accepted)
        else:
            assert isinstance(await stage.answer("messageResponse", "and then tell me"), Accepted)
            (workspace / "stop").touch()
        await stage.until(lambda event: isinstance(event, MessageUpdated) and event.message.ts == ask.ts)
        await stage.until(lambda event: isinstance(event, ToolEnd))
        await stage.until_ask("completion_result")
        assert ("over" in tool_results(stage)[0].content) is (how == "words")
        assert stage.says("user_feedback") == (["and then tell me"] if how == "words" else [])
        assert isinstance(await stage.answer("noButtonClicked", ts=ask.ts), Refused)

    turns = [{"calls": [call("execute_command", command=wait)]}, {"text": "done"}]
    play(workspace, turns, story, permission_mode="bypassPermissions")


def test_a_message_may_still_be_queued_while_a_command_shows_output(workspace: Path) -> None:
    """The ask about the output does not consume a queued message."""
    wait = "echo begun; while [ ! -e stop ]; do sleep 0.05; done"

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command_output")
        await stage.submit(QueueMessage(text="later"))
        (workspace / "stop").touch()
        await stage.until_ask("completion_result")
        assert stage.says("user_feedback") == ["later"]

    turns = [{"calls": [call("execute_command", command=wait)]}, {"expect": {"user": "later"}, "text": "done"}]
    play(workspace, turns, story, permission_mode="bypassPermissions")
