"""Files that somebody else changes while an agent works: refused with the code that other tools know."""

from pathlib import Path
from typing import Any

import pytest

from tests.engine.stage import Stage, call, play, tool_results
from tests.intents.project import SELECT, intents, results, told, turns, write

READ = call("read_file", path="src/auth/a.py")
PATH = "src/auth/a.py"


@pytest.fixture
def scene(workspace: Path) -> Path:
    intents(workspace)
    (workspace / "src/auth").mkdir(parents=True)
    (workspace / PATH).write_text("one\n")
    return workspace


def answered(scene: Path, change: str | None, *calls: dict[str, Any]) -> str:
    """The file becomes `change` while a user looks at the edit; what the model is told of it."""
    seen: list[str] = []

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        if change is None:
            (scene / PATH).unlink()
        else:
            (scene / PATH).write_text(change)
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        seen.append(tool_results(stage)[-1].content)

    play(scene, turns(*calls), story, permission_mode="default")
    return seen[0]


@pytest.mark.parametrize(
    "late", [write(PATH, "ours\n"), call("edit_file", path=PATH, old_string="one", new_string="ours")]
)
def test_a_file_that_changed_since_it_was_read_is_not_written(scene: Path, late: dict[str, Any]) -> None:
    """Another program writes between the read and the edit, although the text to be replaced is still there."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("followup")
        (scene / PATH).write_text("one\ntheirs\n")
        await stage.answer("messageResponse", "go on")
        await stage.until_ask("completion_result")
        said = told(tool_results(stage)[-1].content)
        assert (said["code"], said["resolution"]) == ("REQ-007", "RE_READ_REQUIRED")

    asking = call("ask_followup_question", question="Go on?", follow_up=[{"text": "yes"}])
    play(scene, turns(SELECT, READ, asking, late), story, permission_mode="bypassPermissions")
    assert (scene / PATH).read_text() == "one\ntheirs\n"


def test_a_file_that_changes_while_the_user_looks_is_not_written(scene: Path) -> None:
    said = told(answered(scene, "theirs\n", SELECT, READ, write(PATH, "ours\n")))
    assert (said["code"], said["error_type"], said["resolution"]) == ("REQ-007", "stale_file", "RE_READ_REQUIRED")
    assert (scene / PATH).read_text() == "theirs\n"


def test_a_file_that_goes_meanwhile_is_not_made_again(scene: Path) -> None:
    said = answered(scene, None, SELECT, READ, call("edit_file", path=PATH, old_string="one", new_string="two"))
    assert "REQ-007" in said and not (scene / PATH).exists()


def test_a_file_that_comes_meanwhile_is_not_overwritten(scene: Path) -> None:
    (scene / PATH).unlink()
    said = answered(scene, "theirs\n", SELECT, write(PATH, "ours\n"))
    assert "REQ-007" in said and (scene / PATH).read_text() == "theirs\n"


def test_a_file_that_nobody_read_is_not_overwritten(scene: Path) -> None:
    said = told(results(scene, SELECT, write(PATH, "ours\n"))[1])
    assert said["code"] == "REQ-007" and "has not been read" in said["message"]
    assert (scene / PATH).read_text() == "one\n"


@pytest.mark.parametrize("chunks", [2, 4, 5])
def test_a_call_that_was_cut_off_changes_nothing(scene: Path, chunks: int) -> None:
    """Neither does a complete call if the reply breaks off after it."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")

    half = {"calls": [{**write("src/auth/b.py")}], "fault": {"kind": "connection", "after": chunks}}
    play(scene, [{"calls": [SELECT]}, half, {"text": "done"}], story, permission_mode="bypassPermissions")
    assert not (scene / "src/auth/b.py").exists()
