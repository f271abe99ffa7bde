"""The tool that lists and reads the resources of an MCP server, for the model and for mentions (`@docs:file:///a`)."""

from typing import Final

import msgspec

from robota.contracts.tool import AnyTool, Prepared, Preview, Tool, ToolContext, ToolGroup, ToolResult, Touches
from robota.extensions.mcp.connection import McpConnection
from robota.extensions.mcp.mcp_tool import EFFECTS
from robota.extensions.mcp.remote_tool import title_for, tool_name
from robota.extensions.mcp.server_failure import ServerFailed, failed_call
from robota.text.visible import single_line, visible

RESOURCE_TOOL: Final = "read_mcp_resource"
MAX_URI: Final = 2000
DESCRIPTION: Final = (
    "Reads a resource of the MCP server {server}: text that it offers by a URI. Without a URI it lists what there is."
)


class ReadResource(msgspec.Struct, frozen=True, kw_only=True):
    """The URI to read; empty to list the resources."""

    uri: str = ""


def resource_tool(connection: McpConnection) -> AnyTool:
    """The tool for the resources of a server. Policy treats it like any other tool of that server."""
    server = connection.server.name
    name, description = resource_tool_name(server), DESCRIPTION.format(server=server)

    async def run(params: ReadResource) -> ToolResult:
        try:
            if params.uri:
                return await connection.read_resource(params.uri)
            listed = await connection.resources()
        except ServerFailed as failure:
            raise failed_call(server, failure) from failure
        lines = (f"{single_line(resource.uri, MAX_URI)}  {single_line(resource.name)}" for resource in listed)
        return ToolResult(content="\n".join(lines) or "It lists no resources.")

    async def prepare(params: ReadResource, context: ToolContext) -> Prepared:
        request = {"type": "access_mcp_resource", "serverName": server, "uri": visible(params.uri)}
        preview = Preview(ask="use_mcp_server", text=msgspec.json.encode(request).decode())
        return Prepared(preview=preview, run=lambda: run(params))

    return Tool(
        name=name,
        label=name,
        group=ToolGroup.MCP,
        params=ReadResource,
        description=lambda: description,
        effects=EFFECTS,
        touches=lambda params: Touches(),
        prepare=prepare,
        title=title_for(server, RESOURCE_TOOL),
    )


def resource_tool_name(server: str) -> str:
    """The name of the tool for the resources of a server."""
    return tool_name(server, RESOURCE_TOOL)
