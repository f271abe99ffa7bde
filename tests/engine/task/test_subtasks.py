"""Whatever becomes of a subtask, its parent is told, and goes on."""

from pathlib import Path
from typing import Any

import pytest

from robota.protocol.asks.answer import Approve, Reject
from robota.protocol.commands import Accepted, AskResponse, CancelTask, NewTask
from robota.protocol.events import TaskEnded
from robota.protocol.state import AgentState
from tests.engine.session.gated_session import GatedSession, with_gated_session
from tests.engine.stage import Stage, call, play, tool_results

DELEGATE = {"calls": [call("new_task", mode="code", message="count the files")]}
PARENT_GOES_ON = {"text": "The parent is done."}


@pytest.mark.parametrize("attended", [True, False])
def test_a_subtask_that_only_answers_in_words_gives_them_to_its_parent(workspace: Path, attended: bool) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        (result,) = tool_results(stage)
        assert not result.is_error and "There are seven files." in result.content
        assert stage.says("text")[-1] == "The parent is done."

    words = {"text": "There are seven files.", "repeat": 3}
    play(workspace, [DELEGATE, words, PARENT_GOES_ON], story, attended=attended)


CIRCLE = {"calls": [call("list_files", path=".")]}
INVALID = {"calls": [call("no_such_tool")]}


@pytest.mark.parametrize("attended", [True, False])
@pytest.mark.parametrize(
    ("mistakes", "why"),
    [(INVALID, "3 mistakes in a row"), (CIRCLE, "repeating the same call")],
    ids=["invalid calls", "in circles"],
)
def test_a_subtask_that_makes_mistakes_ends_with_an_error_for_its_parent(
    workspace: Path, mistakes: dict[str, Any], why: str, attended: bool
) -> None:
    async def story(stage: Stage) -> None:
        task = await stage.start()
        ask = await stage.until_ask("completion_result")
        (result,) = tool_results(stage)
        assert result.is_error and why in result.content
        assert stage.says("text")[-1] == "The parent is done." and ask.ts == stage.rows[-1].ts
        ended = [(event.task_id == task, event.outcome) for event in stage.events_of(TaskEnded)]
        assert ended == [(False, "given_up")]

    turns = [DELEGATE, {**PARENT_GOES_ON, "expect": {"result": "ended before it was complete"}}]
    play(workspace, turns, story, attended=attended, profile_options={"otherwise": mistakes})


def test_a_no_at_a_limit_in_a_subtask_returns_to_its_parent(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        await stage.submit(NewTask(text="begin"))
        await stage.model_says("delegate")
        assert stage.ask == "auto_approval_max_req_reached"
        await stage.submit(AskResponse(answer=Reject()))
        assert stage.ask == "auto_approval_max_req_reached", "the parent has reached it as well"
        await stage.submit(AskResponse(answer=Approve()))
        assert stage.state is AgentState.STREAMING

    with_gated_session(tmp_path, story, max_turns=1)


def test_a_subtask_that_is_interrupted_ends_and_its_parent_can_be_resumed(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        receipt = await stage.submit(NewTask(text="begin"))
        assert isinstance(receipt, Accepted)
        await stage.model_says("delegate")
        child = stage.session.state().current_task_id
        await stage.submit(CancelTask())
        assert stage.session.state().current_task_id == receipt.id
        ended = [(event.task_id, event.outcome) for event in stage.seen if isinstance(event, TaskEnded)]
        assert ended == [(child, "interrupted")]
        assert stage.logged().tasks[child or ""].outcome == "interrupted"
        await stage.submit(AskResponse(answer=Approve()))
        await stage.model_says("an answer")
        assert stage.ask == "completion_result"

    with_gated_session(tmp_path, story)
