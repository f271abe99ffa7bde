"""The skills that an agent file names: the agent gets their instructions before its first request."""

from pathlib import Path
from typing import Any

import pytest

from robota.protocol.events import Notice
from tests.engine.stage import Stage, call, play, tool_results


@pytest.fixture
def user(workspace: Path) -> Path:
    """The directory of the user, with a skill and an agent that names it, and one that does not exist."""
    home = workspace.parent / "robota-home"
    skill = home / "skills" / "naming"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: naming\ndescription: How to name.\n---\nCall everything by its colour.\n"
    )
    (home / "agents").mkdir()
    (home / "agents" / "namer.md").write_text(
        "---\nname: namer\ndescription: Names things.\nskills: naming, gone\n---\nYou name things.\n"
    )
    return home


@pytest.mark.parametrize("own_processes", [False, True], ids=["in this process", "in a process of its own"])
def test_it_knows_them_from_the_start(workspace: Path, user: Path, own_processes: bool) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "Blue." in tool_results(stage)[0].content
        warnings = [event.text for event in stage.events_of(Notice) if event.level == "warning"]
        assert any("The skill gone of the agent namer was not loaded" in warning for warning in warnings)

    turns: list[Any] = [
        {"calls": [call("agent", description="d", prompt="name it", subagent_type="namer")]},
        {"task": "name it", "text": "Blue.", "expect": {"user": "/Call everything by its colour/"}},
        {"text": "Done."},
    ]
    play(workspace, turns, story, settings={"agents": {"ownProcesses": own_processes}})
