"""Which tools a model is offered: one for edits, that of its family; one to complete a task only if it must call it."""

import re
import sys
from pathlib import Path

import pytest

from robota.log.chain.reader import load
from robota.log.replay.requests import recorded_requests
from robota.policy.modes.task_modes import BUILT_IN, TaskMode, TaskModes
from robota.tools.registry import BUILT_IN_IDS, builtin_tools
from tests.engine.stage import Stage, call, play
from tests.project.test_wording import texts_of

EDITORS = {"edit_file", "apply_diff", "apply_patch"}


def offered(stage: Stage) -> set[str]:
    log = stage.opened.log
    *_, newest = recorded_requests(load(log.path).records, log.artifact)
    return {str(tool["name"]) for tool in newest.tools}


@pytest.mark.parametrize(
    ("form", "editor"), [("replace", "edit_file"), ("patch", "apply_patch"), ("diff", "apply_diff")]
)
def test_a_model_is_offered_one_tool_for_edits_and_may_call_the_others(workspace: Path, form: str, editor: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert offered(stage) & EDITORS == {editor}
        assert (workspace / "notes.txt").read_text() == "new\n"

    (workspace / "notes.txt").write_text("old\n")
    others = [
        call("edit_file", path="notes.txt", old_string="old", new_string="mid"),
        call("apply_patch", patch="*** Begin Patch\n*** Update File: notes.txt\n@@\n-mid\n+new\n*** End Patch"),
    ]
    turns = [{"calls": [call("read_file", path="notes.txt")]}, {"calls": others}, {"text": "Done."}]
    play(
        workspace,
        turns,
        story,
        permission_mode="bypassPermissions",
        profile_options={"modelInfo": {"editFormat": form}},
    )


@pytest.mark.parametrize("completion", ["implicit", "explicit"])
def test_the_tool_that_completes_a_task_is_offered_only_where_it_is_needed(workspace: Path, completion: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert ("attempt_completion" in offered(stage)) is (completion == "explicit")

    play(workspace, [{"calls": [call("attempt_completion", result="Done.")]}], story, completion=completion)


@pytest.mark.parametrize("mode", BUILT_IN, ids=lambda mode: mode.slug)
def test_a_mode_has_every_tool_that_its_tools_speak_of(mode: TaskMode) -> None:
    """In a description, a result or an error. A model is offered the tool for edits of its family."""
    modes = TaskModes({mode.slug: mode})
    offered = {tool.name for tool in builtin_tools() if modes.allows(tool, mode.slug, None) is None}
    spoken_of = set()
    for tool in builtin_tools():
        module = sys.modules[tool.params.__module__]
        words = " ".join([tool.description(), *texts_of(Path(str(module.__file__)))])
        spoken_of |= set(BUILT_IN_IDS) & set(re.findall(r"\w+", words)) if tool.name in offered else set()
    assert spoken_of - offered <= (EDITORS if offered & EDITORS else set())
    assert "read_command_output" in offered, "every result can be too long"
