"""Configures MCP servers for a session, and runs one in this process or as a real `robota`."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.protocol.permission_mode import PermissionMode
from tests.cli.scripts import call, script, write_settings
from tests.engine.stage import Stage, tool_results
from tests.harness.cli import Finished, Robota

PLAIN = Path(__file__).with_name("plain_server.py")
SDK = Path(__file__).with_name("sdk_server.py")
DONE = {"text": "done"}
NOTE: dict[str, Any] = {
    "name": "note",
    "description": "Notes something.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    },
}
WRITE_NOTE = {"calls": [call("mcp__plain__note", text="hello")]}


class PlainServer:
    """A plain server whose tools can be changed between two sessions."""

    def __init__(self, directory: Path, *tools: dict[str, Any], name: str = "plain") -> None:
        self.tools = directory / f"{name}-tools.json"
        self.calls = directory / f"{name}-calls"
        self.offer(*(tools or (NOTE,)))

    def offer(self, *tools: dict[str, Any]) -> None:
        self.tools.write_text(json.dumps(tools))

    def entry(self, *, timeout: int | None = None, **options: Any) -> dict[str, Any]:
        """Its entry in the settings."""
        first_result = json.dumps({"tools": str(self.tools), "calls": str(self.calls), **options})
        more = {} if timeout is None else {"timeout": timeout}
        return {"command": sys.executable, "args": [str(PLAIN), first_result], **more}

    @property
    def was_called(self) -> bool:
        return self.calls.exists()


def sdk_entry(*arguments: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SDK), *arguments]}


def run_with(robota: Robota, servers: dict[str, Any], turns: list[Any], *arguments: str, **env: str) -> Finished:
    """Run one prompt with these servers in the user settings."""
    configure(robota, servers, turns)
    return robota("-p", "go", *arguments, env=env)


def configure(robota: Robota, servers: dict[str, Any], turns: list[Any]) -> None:
    script(robota, *turns)
    path = robota.home / ".robota/settings.json"
    write_settings(robota, {**json.loads(path.read_text()), "mcpServers": servers})


def play_with(
    workspace: Path,
    servers: dict[str, Any],
    turns: list[Any],
    check: Callable[[Stage], None],
    *,
    model: dict[str, Any] | None = None,
) -> None:
    """Run a session in this process, with everything allowed, to the end of its task."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        check(stage)

    play_story(workspace, servers, turns, story, mode="bypassPermissions", model=model)


def play_story(
    workspace: Path,
    servers: dict[str, Any],
    turns: list[Any],
    story: Callable[[Stage], Awaitable[None]],
    *,
    mode: str = "default",
    model: dict[str, Any] | None = None,
) -> None:
    """Run a session in this process; `story` is what the client does, `model` the options of the scripted model."""
    home = workspace.parent / "robota-home"
    home.mkdir(exist_ok=True)
    profile = {"type": "scripted", "model": "scripted", "options": {"turns": turns, **(model or {})}}
    settings = {"currentProvider": "script", "providers": {"script": profile}, "mcpServers": servers}
    (home / "settings.json").write_text(json.dumps(settings))

    async def run() -> None:
        env = {"ROBOTA_HOME": str(home), "HOME": str(home)}
        opened = open_session(LaunchOptions(cwd=workspace, permission_mode=PermissionMode(mode)), env)
        try:
            await story(Stage(opened))
        finally:
            await opened.close()

    asyncio.run(run())


def first_result(stage: Stage) -> str:
    """The first tool result of the task, as sent to the model."""
    return tool_results(stage)[0].content
