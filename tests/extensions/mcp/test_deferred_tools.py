"""MCP tools that would fill too much of the context window are searched for and called by name."""

import json
from pathlib import Path
from typing import Any

from robota.extensions.mcp.deferred_tools import MAX_FOUND, found_text, search_tools
from robota.protocol.events import Notice
from robota.providers.chunks import ToolSpec
from tests.cli.scripts import call
from tests.engine.stage import Stage, tool_results
from tests.extensions.mcp.setup import DONE, NOTE, PlainServer, play_story

MANY: list[dict[str, Any]] = [
    {**NOTE, "name": f"tool{number}", "description": f"Does thing {number}. " + "x" * 1500} for number in range(100)
]
WINDOW = {"modelInfo": {"contextWindow": 200_000}}
SEARCH = {"calls": [call("search_mcp_tools", query="note something")]}
USE = {"calls": [call("use_mcp_tool", tool="mcp__plain__note", arguments={"text": "hello"})]}


def test_a_deferred_tool_is_found_approved_and_called(workspace: Path, tmp_path: Path) -> None:
    server = PlainServer(tmp_path, NOTE, *MANY)

    async def story(stage: Stage) -> None:
        assert "mcp__plain__note" not in [spec.name for spec in stage.opened.services.tools.specs]
        await stage.start()
        asked = await stage.until_ask("use_mcp_server")
        assert json.loads(asked.text or "")["toolName"] == "note" and not server.was_called
        await stage.answer("yesButtonClicked", None, asked.ts)
        await stage.until_ask("completion_result")
        found, used = tool_results(stage)
        assert found.content.startswith("## mcp__plain__note\nNotes something.")
        assert server.was_called and not used.is_error
        names = [spec.name for spec in stage.opened.services.tools.specs]
        assert names[-2:] == ["search_mcp_tools", "use_mcp_tool"] and "mcp__plain__note" not in names
        assert any("more than a tenth of it" in each.text for each in stage.events_of(Notice))

    play_story(workspace, {"plain": server.entry()}, [SEARCH, USE, DONE], story, model=WINDOW)


def test_an_unknown_deferred_tool_is_reported(workspace: Path, tmp_path: Path) -> None:
    wrong = {"calls": [call("use_mcp_tool", tool="mcp__plain__noet")]}
    unreadable = {"calls": [call("use_mcp_tool", arguments={})]}

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        missing, unread = tool_results(stage)
        assert "There is no tool 'mcp__plain__noet'" in missing.content
        assert "Did you mean 'mcp__plain__note'? Choose one of: read_file, " in missing.content
        assert missing.content.count("mcp__plain__") == 2, "those that are searched for are not listed"
        assert "Invalid arguments for use_mcp_tool" in unread.content

    play_story(
        workspace,
        {"plain": PlainServer(tmp_path, NOTE, *MANY).entry()},
        [wrong, unreadable, DONE],
        story,
        model=WINDOW,
    )


def test_few_tools_are_not_deferred(workspace: Path, tmp_path: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        names = [spec.name for spec in stage.opened.services.tools.specs]
        assert "mcp__plain__note" in names and "search_mcp_tools" not in names

    play_story(workspace, {"plain": PlainServer(tmp_path).entry()}, [DONE], story)


def test_the_best_matches_come_first_and_are_limited() -> None:
    specs = [ToolSpec(name=f"mcp__s__t{n}", description="reads files", schema={}) for n in range(50)]
    wanted = ToolSpec(name="mcp__s__delete_file", description="Deletes files.", schema={})
    found = search_tools([*specs, wanted], "delete files")
    assert found[0] is wanted and len(found) == 51
    text = found_text(found)
    assert text.count("Schema of its arguments") == MAX_FOUND
    assert "[41 more match. Search for one by its name" in text and "mcp__s__t49" in text
    assert search_tools(specs, "weather") == ()
