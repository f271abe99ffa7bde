"""The one place where the MCP SDK is driven: from a line process or a URL to a session that lists and calls tools."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

import anyio
import mcp_types
from mcp import Client, MCPError
from mcp.client import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from robota.extensions.mcp.definitions import HttpServer
from robota.extensions.mcp.http_client import http_client
from robota.extensions.mcp.remote_tool import MOST_TOOLS, RemoteTool
from robota.version import VERSION
from robota.workspace.process.line_process import LONGEST_LINE, LineProcess

MOST_PAGES: Final = 50
# What goes wrong on the way is told by whoever called; on standard error it would only be in the way.
logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)

Streams = tuple[Any, Any]


class RemoteSession:
    """A server that has greeted us. `list_is_stale` becomes true when it says that its tools changed."""

    def __init__(self, transport: AbstractAsyncContextManager[Streams], *, the_old_way: bool) -> None:
        """A server is asked first which version it speaks, which `the_old_way` leaves out."""
        identity = mcp_types.Implementation(name="robota", version=VERSION)
        mode = "legacy" if the_old_way else "auto"
        self._client = Client(transport, mode=mode, cache=None, client_info=identity, message_handler=self._hear)
        self.list_is_stale = False

    async def __aenter__(self) -> "RemoteSession":
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *ended: Any) -> None:
        await self._client.__aexit__(*ended)

    async def tools(self) -> tuple[RemoteTool, ...]:
        """What it offers now, page by page within bounds. One more than may be used shows that there are more."""
        self.list_is_stale = False
        found: list[RemoteTool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            found += map(_remote_tool, page.tools)
            cursor = page.next_cursor
            if cursor is None or len(found) > MOST_TOOLS:
                break
        return tuple(found[: MOST_TOOLS + 1])

    async def call(
        self, tool: str, arguments: dict[str, Any], on_progress: Callable[[str], None]
    ) -> mcp_types.CallToolResult:
        async def show(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
            on_progress(f"{share} {message or ''}".rstrip())

        # Not `call_tool`: that checks the result by a schema of the server's, and a pattern in one can take for ever.
        request = mcp_types.CallToolRequest(params=mcp_types.CallToolRequestParams(name=tool, arguments=arguments))
        return await self._client.session.send_request(request, mcp_types.CallToolResult, progress_callback=show)

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.list_is_stale = True


def _remote_tool(tool: mcp_types.Tool) -> RemoteTool:
    return RemoteTool(
        name=tool.name,
        description=tool.description or "",
        schema=tool.input_schema,
        needs_task=tool.execution is not None and tool.execution.task_support == "required",
    )


@asynccontextmanager
async def over_lines(process: LineProcess, on_nonsense: Callable[[bytes], None]) -> AsyncIterator[Streams]:
    """The streams of a program that speaks one JSON message a line. Lines that are none go to `on_nonsense`."""
    to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](0)

    async def listen() -> None:
        async with to_us:
            async for line in process.lines():
                try:
                    message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    on_nonsense(line)
                    continue
                await to_us.send(SessionMessage(message))

    async def speak() -> None:
        async with from_us:
            async for message in from_us:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await process.write_line(text.encode())
                except OSError:
                    # It does not listen any more; the session learns that it is alone.
                    await to_us.aclose()
                    return

    async with anyio.create_task_group() as pumps:
        pumps.start_soon(listen)
        pumps.start_soon(speak)
        try:
            yield incoming, outgoing
        finally:
            pumps.cancel_scope.cancel()


@asynccontextmanager
async def over_http(server: HttpServer) -> AsyncIterator[Streams]:
    """Streams to a server that is reached by its URL."""
    async with (
        http_client(server.headers, LONGEST_LINE) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=LONGEST_LINE) as streams,
    ):
        yield streams


def is_cut_off(error: Exception) -> bool:
    """Whether the line is broken, and the other side did not merely answer with an error."""
    return isinstance(error, MCPError) and error.code == mcp_types.CONNECTION_CLOSED
