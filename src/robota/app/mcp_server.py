"""Runs Robota as an MCP server, for `robota mcp serve`: a session whose calls come from another program."""

from collections.abc import Callable, Mapping
from typing import Any

from robota.app.tool_call import session_for_calls
from robota.config.launch_options import LaunchOptions
from robota.contracts.tool import ToolGroup, ToolResult
from robota.engine.calls.single_call import run_call


async def serve_session(launch: LaunchOptions, env: Mapping[str, str], notify: Callable[[str], None]) -> None:
    """Serve the tools of a session, with its policy, sandbox and log. Calls that need approval are denied.

    `notify` gets notices for the user, such as invalid settings.
    """
    from robota.extensions.mcp.served_tools import serve_tools

    async with session_for_calls(launch, env, launch.name or "mcp serve") as opened:
        for notice in opened.notices:
            notify(notice)

        async def call(tool: str, arguments: dict[str, Any]) -> ToolResult:
            return (await run_call(opened.options, opened.services, tool, arguments)).result

        tools = opened.services.tools
        # Tools that control a task make no sense without one.
        offered = {tool.name for tool in tools.all if tool.group is not ToolGroup.TASK}
        await serve_tools([spec for spec in tools.specs if spec.name in offered], call)
