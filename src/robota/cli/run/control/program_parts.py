"""Parts of a session that live in the program at the other end of the control protocol: MCP servers and hooks."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, Final

import msgspec

from robota.clients.control.connection import ControlConnection, RequestRefused
from robota.contracts.hook import HookEvent
from robota.contracts.tool import AnyTool, ToolResult
from robota.extensions.mcp.connection import Caller
from robota.extensions.mcp.mcp_tool import mcp_tool
from robota.extensions.mcp.remote_tool import MAX_TOOLS, RemoteTool, UnusableTool
from robota.extensions.mcp.server_failure import ServerFailed
from robota.hooks.definitions import CallbackHandler, HookRule
from robota.version import VERSION

MCP_VERSION: Final = "2025-06-18"
Warn = Callable[[str], None]


class ProgramServer:
    """An MCP server inside the program: its messages travel in control requests."""

    def __init__(self, connection: ControlConnection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._numbers = count(1)

    async def tools(self, warn: Warn) -> list[AnyTool]:
        """The tools of the server. Raises `RequestRefused`."""
        client = {"name": "robota", "version": VERSION}
        await self._call("initialize", protocolVersion=MCP_VERSION, capabilities={}, clientInfo=client)
        await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        listed = (await self._call("tools/list")).get("tools")
        tools: list[AnyTool] = []
        for each in listed[:MAX_TOOLS] if isinstance(listed, list) else ():
            try:
                tools.append(mcp_tool(self._name, self._call_tool, _remote_tool(each)))
            except (UnusableTool, msgspec.ValidationError) as problem:
                warn(f"A tool of the MCP server {self._name} is not offered: {problem}.")
        return tools

    async def _call_tool(self, tool: RemoteTool, arguments: dict[str, Any], caller: Caller) -> ToolResult:
        # Loaded with the first call: the types of the MCP SDK take a while.
        from mcp_types import CallToolResult
        from pydantic import ValidationError

        from robota.extensions.mcp.results import tool_result

        try:
            answer = await self._call("tools/call", name=tool.name, arguments=arguments)
            return tool_result(self._name, CallToolResult.model_validate(answer), sees_images=caller.sees_images)
        except (RequestRefused, ValidationError) as error:
            raise ServerFailed(str(error)) from error

    async def _call(self, method: str, **params: Any) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": params}
        reply = await self._send(message)
        match reply:
            case {"result": dict() as result}:
                return result
            case {"error": {"message": str(problem)}}:
                raise RequestRefused(problem)
            case _:
                raise RequestRefused(f"The MCP server {self._name} gave no answer to {method}.")

    async def _send(self, message: dict[str, Any]) -> Any:
        answer = await self._connection.request("mcp_message", server_name=self._name, message=message)
        return answer.get("mcp_response")


async def program_tools(connection: ControlConnection, servers: Sequence[str], warn: Warn) -> tuple[AnyTool, ...]:
    """The tools of all MCP servers inside the program. One that does not work is left out."""
    tools: list[AnyTool] = []
    for name in servers:
        try:
            tools += await ProgramServer(connection, name).tools(warn)
        except RequestRefused as problem:
            warn(f"The MCP server {name} does not work: {problem}")
    return tuple(tools)


def program_hooks(connection: ControlConnection, hooks: Any, warn: Warn) -> tuple[HookRule, ...]:
    """The hooks of the program, as `initialize` names them."""
    rules: list[HookRule] = []
    for event, matchers in hooks.items() if isinstance(hooks, Mapping) else ():
        if event not in set(HookEvent):
            warn(f"Hooks for {event} never run: Robota has no such event.")
            continue
        for each in matchers if isinstance(matchers, list) else ():
            rules.append(_rule(connection, HookEvent(event), each))
    return tuple(rules)


def _rule(connection: ControlConnection, event: HookEvent, given: Mapping[str, Any]) -> HookRule:
    timeout = given.get("timeout")
    handlers = tuple(
        CallbackHandler(
            name=str(id),
            run=partial(_call_back, connection, str(id)),
            timeout=float(timeout) if isinstance(timeout, int | float) and timeout > 0 else None,
            fail_closed=given.get("onFailure", "continue") != "continue",
        )
        for id in given.get("hookCallbackIds", ())
    )
    return HookRule(event=event, handlers=handlers, matcher=str(given.get("matcher") or ""))


async def _call_back(connection: ControlConnection, id: str, event: bytes) -> str:
    read = msgspec.json.decode(event)
    answer = await connection.request("hook_callback", callback_id=id, input=read, tool_use_id=read.get("tool_use_id"))
    return msgspec.json.encode(answer).decode()


def _remote_tool(given: Any) -> RemoteTool:
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        raise UnusableTool("it has no name")
    schema = given.get("inputSchema")
    return RemoteTool(
        name=given["name"],
        description=str(given.get("description") or ""),
        schema=schema if isinstance(schema, dict) else {},
    )
