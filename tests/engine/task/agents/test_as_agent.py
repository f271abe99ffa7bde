"""A session that works as an agent, agents that a prompt mentions, and messages that come late."""

from pathlib import Path

import pytest

from robota.app.session import open_session
from robota.commands.session_commands import with_commands
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions
from robota.protocol.commands import RunSlashCommand
from robota.protocol.conversation import TextBlock
from robota.protocol.events import Notice, TextDelta
from tests.engine.stage import Stage, call, play, tool_results

AGENT = """---
name: narrator
description: Tells what there is.
tools: Read
initialPrompt: Begin with the weather.
maxTurns: 2
---
You tell stories.
"""


@pytest.fixture
def narrator(workspace: Path) -> Path:
    """An agent of the user."""
    directory = workspace.parent / "robota-home" / "agents"
    directory.mkdir(parents=True)
    (directory / "narrator.md").write_text(AGENT)
    return workspace


def sent(stage: Stage) -> str:
    task = stage.logged().root
    assert task is not None
    turn = task.conversation().turns[0]
    return "\n".join(block.text for block in turn.content if isinstance(block, TextBlock))


def test_a_session_works_as_an_agent_with_its_tools_alone(narrator: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("tell")
        await stage.until_ask("completion_result")
        assert sent(stage) == "Begin with the weather.\n\ntell" and stage.says("text")[0] == "tell"
        assert "may not use" in tool_results(stage)[0].content

    turns = [
        {"calls": [call("write_to_file", path="a", content="x")]},
        {"text": "Once upon a time.", "expect": {"user": "tell"}},
    ]
    play(narrator, turns, story, agent="Narrator")


def test_an_agent_that_there_is_not_starts_nothing(workspace: Path) -> None:
    with pytest.raises(ConfigError, match="Nothing was started"):
        open_session(LaunchOptions(cwd=workspace, agent="nobody", needs_model=False), {})


def test_a_mentioned_agent_is_named_to_the_model(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("ask @agent-explore about it, and not @agent-nobody or me@agent-plan")
        await stage.until_ask("completion_result")
        assert sent(stage).count("The user wants the agent") == 1 and "subagent_type: Explore" in sent(stage)

    play(workspace, [{"text": "Yes."}], story)


def test_a_message_that_comes_after_the_last_request_is_another_turn(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        port = with_commands(stage.opened, {})
        await port.submit(RunSlashCommand(line="/agent look around"))

        await stage.until(lambda event: isinstance(event, TextDelta))
        await port.submit(RunSlashCommand(line="/agent send 1 and behind you"))
        for _ in range(2):
            await stage.until(lambda event: isinstance(event, Notice) and "Its report" in event.text)
        agent = stage.session.background.agents[0]
        assert agent.ended is not None and agent.ended.text == "Nobody."
        assert not stage.session.state().message_queue, "it was for the agent, not for the task"

    turns = [
        {"task": "look around", "text": "I see a long, long wall.", "chunkSize": 2, "chunkDelayMs": 20},
        {"task": "look around", "expect": {"user": "and behind you"}, "text": "Nobody."},
    ]
    play(workspace, turns, story)
