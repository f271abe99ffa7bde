"""Which tools a model is offered: one for edits, that of its family; one to complete a task only if it must call it."""

from pathlib import Path

import pytest

from robota.log.chain.reader import load
from robota.log.replay.requests import recorded_requests
from tests.engine.stage import Stage, call, play

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
