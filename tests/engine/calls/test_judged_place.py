"""What was judged and shown is what is done: links that are swapped in meanwhile are refused."""

from pathlib import Path
from typing import Any

import pytest

from tests.engine.stage import Stage, call, play, tool_results

DONE = {"text": "done"}
CALLS: dict[str, dict[str, Any]] = {
    "write_to_file": {"path": "notes/note.txt", "content": "[core]\nfsmonitor = touch owned\n"},
    "edit_file": {"path": "notes/note.txt", "old_string": "", "new_string": "[core]\nfsmonitor = touch owned\n"},
    "apply_patch": {"patch": "*** Begin Patch\n*** Add File: notes/note.txt\n+owned\n*** End Patch\n"},
}


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def swap_the_file(workspace: Path) -> None:
    (workspace / "notes" / "note.txt").symlink_to(workspace / ".git" / "robota-test")


def swap_the_directory(workspace: Path) -> None:
    (workspace / "notes").rename(workspace / "away")
    (workspace / "notes").symlink_to(workspace / ".git")


def put_another_directory_there(workspace: Path) -> None:
    (workspace / "notes").rename(workspace / "away")
    (workspace / "other").rename(workspace / "notes")


@pytest.mark.parametrize("swap", [swap_the_file, swap_the_directory, put_another_directory_there])
@pytest.mark.parametrize("tool", sorted(CALLS))
def test_a_place_swapped_between_question_and_answer_is_refused(workspace: Path, tool: str, swap: Any) -> None:
    (workspace / "notes").mkdir()
    (workspace / "other").mkdir()
    before = names(workspace / ".git")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        swap(workspace)
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        [result] = tool_results(stage)
        assert result.is_error, result.content

    play(workspace, [{"calls": [call(tool, **CALLS[tool])]}, DONE], story)
    assert names(workspace / ".git") == before
    assert swap is not put_another_directory_there or names(workspace / "notes") == []


def test_an_existing_file_swapped_for_a_link_is_left_alone(workspace: Path) -> None:
    (workspace / "note.txt").write_text("one\n")
    config = workspace / ".git" / "config"
    before = config.read_bytes()

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        (workspace / "note.txt").unlink()
        (workspace / "note.txt").symlink_to(config)
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert tool_results(stage)[0].is_error

    edit = call("edit_file", path="note.txt", old_string="one", new_string="two")
    play(workspace, [{"calls": [edit]}, DONE], story)
    assert config.read_bytes() == before


def test_a_read_that_was_approved_does_not_read_through_a_new_link(workspace: Path) -> None:
    """The user approves reading `.env`; after that, this file is read and no other."""
    (workspace / ".env").write_text("A=1\n")
    (workspace / "secret").write_text("top secret\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        (workspace / ".env").unlink()
        (workspace / ".env").symlink_to(workspace / "secret")
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        [result] = tool_results(stage)
        assert result.is_error and "top secret" not in result.content

    play(workspace, [{"calls": [call("read_file", path=".env")]}, DONE], story)
