"""The reference servers of MCP, run only if they are installed, because tests do not use the network."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, sessions
from tests.engine.stage import Stage, tool_results
from tests.extensions.mcp.reference_servers import installed
from tests.extensions.mcp.setup import DONE, configure, first_result, play_story, play_with
from tests.harness.cli import Robota
from tests.harness.session_log import log_text


@pytest.fixture
def everything() -> dict[str, Any]:
    return {"everything": installed("mcp-server-everything", "stdio")}


def test_tools_with_text_numbers_structure_and_images(workspace: Path, everything: dict[str, Any]) -> None:
    calls = [
        call("mcp__everything__echo", message="hello"),
        call("mcp__everything__get-sum", a=2, b=40),
        call("mcp__everything__get-structured-content", location="Chicago"),
        call("mcp__everything__get-tiny-image"),
        call("mcp__everything__get-resource-reference", resourceType="Text", resourceId=1),
    ]

    def check(stage: Stage) -> None:
        echo, total, structure, image, reference = (result.content for result in tool_results(stage))
        assert "hello" in echo and "42" in total and "temperature" in structure
        assert "an image (image/png)" in image and "[resource demo://" in reference

    play_with(workspace, everything, [{"calls": calls}, DONE], check)


def test_progress_of_a_long_operation(workspace: Path, everything: dict[str, Any]) -> None:
    operation = call("mcp__everything__trigger-long-running-operation", duration=0.2, steps=2)

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until(lambda event: any("2/2" in text for text in stage.says("command_output")))

    play_story(workspace, everything, [{"calls": [operation]}, DONE], story, mode="bypassPermissions")


def test_a_prompt_and_a_resource(robota: Robota, everything: dict[str, Any]) -> None:
    configure(robota, everything, [DONE])
    prompted = robota("-p", "/mcp__everything__args-prompt Paris")
    assert prompted.code == 0, prompted.stderr
    assert "weather in Paris" in log_text(sessions(robota)[-1])
    configure(robota, everything, [DONE])
    resource = "@everything:demo://resource/static/document/features.md"
    mentioned = robota("-p", f"Read {resource}", "--allowed-tools", "mcp__everything")
    assert mentioned.code == 0, mentioned.stderr
    assert "[resource demo://resource/static/document/features.md]" in log_text(sessions(robota)[-1])


def test_the_file_server_works_in_the_workspace_by_its_roots(workspace: Path, tmp_path: Path) -> None:
    (workspace / "note.txt").write_text("from the workspace\n")
    (tmp_path / "elsewhere").mkdir()
    entry = {"files": installed("mcp-server-filesystem", str(tmp_path / "elsewhere"))}
    reading = call("mcp__files__read_text_file", path=str(workspace / "note.txt"))

    def check(stage: Stage) -> None:
        assert "from the workspace" in first_result(stage)

    play_with(workspace, entry, [{"calls": [reading]}, DONE], check)
