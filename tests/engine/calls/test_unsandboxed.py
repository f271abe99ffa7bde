"""A command that fails because of the sandbox: a user is offered to run exactly that command without it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from robota.protocol.events import ToolEnd
from robota.workspace.sandbox.backend import SandboxKind
from tests.engine.stage import Stage, call, play, tool_results
from tests.workspace.sandbox.cells import Cell

DONE = {"text": "done"}


@pytest.fixture
def outside() -> Iterator[Path]:
    """A file that can be written, but not from inside; not in /tmp, because commands inside have their own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        yield Path(directory) / "outside.txt"


def written(outside: Path) -> bool:
    return outside.exists()


def writing(outside: Path, workspace: Path) -> dict[str, Any]:
    """A program that fails inside every kind of sandbox, without saying where, and works outside."""
    program = f"{{ echo x > {outside}; }} 2>/dev/null || {{ echo 'Read-only file system'; exit 1; }}\n"
    (workspace / "program.sh").write_text(program)
    return {"calls": [call("execute_command", command="sh program.sh")]}


def test_a_yes_runs_exactly_that_command_outside_and_the_model_is_told(workspace: Path, outside: Path) -> None:
    turn = writing(outside, workspace)

    async def story(stage: Stage) -> None:
        await stage.start()
        first = await stage.until_ask("command")
        await stage.answer("yesButtonClicked")
        second = await stage.until_ask("command")
        assert not written(outside)
        assert second.text == first.text and second.call_id == first.call_id
        assert second.verdict is not None
        assert second.verdict.rule == "sandbox" and not second.verdict.suggestions
        assert second.verdict.reason.startswith("The command failed in the sandbox")
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert written(outside)
        [result] = tool_results(stage)
        assert "The user allowed it to run without the sandbox" in result.content and "Exit code: 0" in result.content
        assert [end.status for end in stage.events_of(ToolEnd)] == ["success"]

    play(workspace, [turn, DONE], story)


def test_a_no_leaves_the_failure_and_the_rest_of_the_reply_goes_on(workspace: Path, outside: Path) -> None:
    turn = writing(outside, workspace)
    turn["calls"].append(call("list_files", path="."))

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("yesButtonClicked")
        await stage.until_ask("command")
        await stage.answer("noButtonClicked", "write into the workspace instead")
        await stage.until_ask("completion_result")
        assert not written(outside)
        first, second = tool_results(stage)
        assert "Exit code: 1" in first.content and "write into the workspace instead" in first.content
        assert not second.is_error

    play(workspace, [turn, DONE], story)


def test_where_nobody_can_answer_the_model_learns_why_it_failed(workspace: Path, outside: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        [result] = tool_results(stage)
        assert "failed in the sandbox" in result.content and "Exit code: 1" in result.content
        assert "Nobody is there to allow it to run" in result.content and "Find a way that works" in result.content
        assert not written(outside)

    play(workspace, [writing(outside, workspace), DONE], story, attended=False, allowed_tools=("Bash",))


@pytest.mark.parametrize(
    ("attended", "told"),
    [(True, "without_sandbox: true; the user will be asked."), (False, "find a way that works there, or report")],
)
def test_a_failure_that_only_may_be_the_sandboxes_doing_is_left_to_the_model(
    workspace: Path, attended: bool, told: str
) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        [result] = tool_results(stage)
        assert told in result.content and ("without_sandbox" in result.content) is attended

    denied = {"calls": [call("execute_command", command="echo 'Permission denied'; exit 1")]}
    play(workspace, [denied, DONE], story, allowed_tools=("Bash",), attended=attended)


@pytest.mark.parametrize(
    "command",
    ["echo x > .envrc", "mkdir .vscode/x", "python3 -c \"open('.husky/pre-commit', 'w')\"", "mkdir -p .git/x"],
)
def test_a_name_that_must_not_come_into_being_is_offered_outside_as_well(
    workspace: Path, tmp_path: Path, command: str
) -> None:
    Cell(SandboxKind.BUBBLEWRAP, tmp_path / "cell")  # skips where there is none

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("yesButtonClicked")
        second = await stage.until_ask("command")
        assert second.verdict is not None and second.verdict.rule == "sandbox"
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")

    play(workspace, [{"calls": [call("execute_command", command=command)]}, DONE], story)
