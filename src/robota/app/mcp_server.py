"""Robota as an MCP server, for `robota mcp serve`: one session whose calls come from another program."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.contracts.tool import ToolGroup, ToolResult
from robota.engine.calls.single_call import run_call


async def serve_session(launch: LaunchOptions, env: Mapping[str, str], tell: Callable[[str], None]) -> None:
    """Offer the built-in tools of a session, judged, sandboxed and logged as everywhere. Nobody is asked anything.

    `tell` gets what the person should know, such as what was left out of the settings.
    """
    from robota.extensions.mcp.served_tools import serve_tools

    alone = msgspec.structs.replace(launch, needs_model=False, attended=False, name=launch.name or "mcp serve")
    opened = open_session(alone, env)
    for notice in opened.notices:
        tell(notice)

    async def call(tool: str, arguments: dict[str, Any]) -> ToolResult:
        return (await run_call(opened.options, opened.services, tool, arguments)).result

    tools = opened.services.tools
    # Those that steer a task have nobody to steer here.
    offered = {tool.name for tool in tools.all if tool.group is not ToolGroup.TASK}
    try:
        await serve_tools([spec for spec in tools.specs if spec.name in offered], call)
    finally:
        await opened.close()
