"""Runs Robota as an MCP server that offers its tools over standard input and output."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import mcp_types
from mcp.server.lowlevel import Server as SdkServer
from mcp.server.stdio import stdio_server

from robota.contracts.tool import ToolResult
from robota.providers.chunks import ToolSpec
from robota.version import VERSION

INSTRUCTIONS: Final = (
    "The tools of Robota, a coding agent, in one workspace. Every call is judged by the rules of the user who "
    "started it; a call that needs their approval is denied."
)

CallServedTool = Callable[[str, dict[str, Any]], Awaitable[ToolResult]]


async def serve_tools(specs: Sequence[ToolSpec], call: CallServedTool) -> None:
    """Serve one client until it disconnects. Calls run one at a time; a call that the client cancels is stopped."""
    one_at_a_time = asyncio.Lock()
    tools = [mcp_types.Tool(name=spec.name, description=spec.description, input_schema=spec.schema) for spec in specs]

    async def list_tools(context: Any, params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        async with one_at_a_time:
            result = await call(params.name, params.arguments or {})
        return _sdk_result(result)

    server = SdkServer(
        "robota", version=VERSION, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _sdk_result(result: ToolResult) -> mcp_types.CallToolResult:
    content: list[mcp_types.ContentBlock] = [mcp_types.TextContent(type="text", text=result.content)]
    content += [
        mcp_types.ImageContent(type="image", data=image.data, mime_type=image.media_type) for image in result.images
    ]
    return mcp_types.CallToolResult(content=content, is_error=result.is_error)
