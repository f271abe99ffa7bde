"""Agents that make no progress are stopped, and the task is told why."""

from pathlib import Path

import pytest

from robota.engine.task.agents.watchdog import AgentLimit, exceeded
from robota.protocol.calls import BackgroundStatus
from robota.protocol.events import BackgroundTasks
from tests.engine.stage import Stage, call, play, tool_results

START = {"calls": [call("agent", description="look", prompt="part a")]}
TOLD = {"text": "The agent was stopped.", "expect": {"error": True}}
NEVER = {"task": "part a", "delayMs": 600_000, "text": "Never."}


def test_an_agent_whose_model_says_nothing_is_stopped(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "nothing came from its model" in tool_results(stage)[0].content
        listed = [task for event in stage.events_of(BackgroundTasks) for task in event.tasks]
        assert BackgroundStatus.FAILED not in {task.status for task in listed}, "nobody waits for it any more"

    play(workspace, [START, NEVER, TOLD], story, settings={"agents": {"idleSeconds": 0.2}})


def test_an_agent_that_repeats_itself_is_stopped(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "said the same again and again" in tool_results(stage)[0].content

    again = {
        "task": "part a",
        "text": "I will list the files once more.",
        "calls": [call("glob", pattern="{n}*")],
        "repeat": 8,
    }
    turns = [START, again, NEVER, TOLD]
    play(workspace, turns, story, settings={"agents": {"idleSeconds": 0}})


@pytest.mark.parametrize(
    ("replies", "limit"),
    [
        ([], None),
        (["a" * 256_001], AgentLimit.OUTPUT),
        (["I look at the next file."] * 7, None),
        (["I look at the  next file."] * 8, AgentLimit.REPETITION),
        (["Yes."] * 8, None),
        (["Fine", "Let me think about it again. " * 8], AgentLimit.REPETITION),
        (["\n".join(f"| row {n} of the table |" for n in range(99))], None),
    ],
)
def test_limits_of_what_an_agent_says(replies: list[str], limit: AgentLimit | None) -> None:
    assert exceeded(replies) is limit
