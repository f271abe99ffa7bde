"""Wraps a tool of an MCP server as a `Tool`, with the same policy, hooks, log and limits as any other."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from robota.contracts.tool import AnyTool, Effect, Prepared, Preview, Tool, ToolContext, ToolGroup, ToolResult, Touches
from robota.extensions.mcp.connection import Caller
from robota.extensions.mcp.remote_tool import (
    RemoteTool,
    UnusableTool,
    offered_description,
    offered_schema,
    title_for,
    tool_name,
)
from robota.extensions.mcp.server_failure import ServerFailed, failed_call
from robota.protocol.asks.ask import ElicitationAsk
from robota.text.visible import visible

# Only the server knows what its tool does, so it counts as writing and sending, whatever its annotations claim.
EFFECTS: Final = frozenset({Effect.WRITE, Effect.NETWORK})
CallRemote = Callable[[RemoteTool, dict[str, Any], Caller], Awaitable[ToolResult]]
MAX_PROGRESS_LINES: Final = 100
MAX_PROGRESS_TEXT: Final = 300

# Models without function calling write every value as text; these types are then parsed as JSON.
NOT_TEXT: Final = frozenset({"integer", "number", "boolean", "array", "object"})


def mcp_tool(server: str, call: CallRemote, remote: RemoteTool) -> AnyTool:
    """Wrap a remote tool of a server. Raises `UnusableTool` if it cannot be offered to a model."""
    if remote.needs_task:
        raise UnusableTool("it can only be called as a long-running task of the server, which Robota does not do yet")
    schema = offered_schema(remote)
    name, description = tool_name(server, remote.name), offered_description(remote)

    async def run(params: McpArguments, context: ToolContext) -> ToolResult:
        declined: list[str] = []

        async def ask(asked: ElicitationAsk) -> str | None:
            answer = await context.ask(asked)
            if answer is None:
                declined.append(asked.question)
                context.show(f"Declined, or no user was present to answer: {asked.question}\n")
            return answer

        caller = Caller(show_progress=_Progress(context).show, ask=ask, sees_images=context.sees_images)
        try:
            result = await call(remote, params.values, caller)
        except ServerFailed as failure:
            raise failed_call(server, failure) from failure
        return result if not declined else _with_declined(result, declined)

    async def prepare(params: McpArguments, context: ToolContext) -> Prepared:
        request = {
            "type": "use_mcp_tool",
            "serverName": server,
            "toolName": visible(remote.name),
            "arguments": visible(_json(params.values)),
        }
        preview = Preview(ask="use_mcp_server", text=_json(request))
        return Prepared(preview=preview, run=lambda: run(params, context))

    return Tool(
        name=name,
        label=name,
        group=ToolGroup.MCP,
        params=McpArguments,
        description=lambda: description,
        effects=EFFECTS,
        touches=lambda params: Touches(),
        prepare=prepare,
        schema=schema,
        read=lambda given: read_arguments(given, schema),
        title=title_for(server, remote.name),
    )


class _Progress:
    """Shows the progress messages of a server to the user, up to a limit."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._left = MAX_PROGRESS_LINES

    def show(self, text: str) -> None:
        if self._left > 0:
            self._left -= 1
            self._context.show(visible(text)[:MAX_PROGRESS_TEXT] + "\n")


def _with_declined(result: ToolResult, declined: list[str]) -> ToolResult:
    message = "\n".join(f"The user did not answer what the server asked meanwhile: {question}" for question in declined)
    return msgspec.structs.replace(result, content=f"{message}\n\n{result.content}")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


class McpArguments(msgspec.Struct, frozen=True):
    """The arguments of a call to an MCP tool."""

    values: dict[str, Any]


def read_arguments(given: Mapping[str, Any], schema: Mapping[str, Any]) -> McpArguments:
    """Check for missing arguments, and for unknown ones if the schema forbids them; `msgspec.ValidationError`."""
    properties = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in given:
            raise msgspec.ValidationError(f"Object missing required field `{name}`")
    if schema.get("additionalProperties") is False and not schema.get("patternProperties"):
        for name in given:
            if name not in properties:
                raise msgspec.ValidationError(f"Object contains unknown field `{name}`")
    return McpArguments({name: _as_declared(value, properties.get(name)) for name, value in given.items()})


def _as_declared(value: Any, declared: Any) -> Any:
    kind = declared.get("type") if isinstance(declared, dict) else None
    if not isinstance(value, str) or not isinstance(kind, str) or kind not in NOT_TEXT:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
