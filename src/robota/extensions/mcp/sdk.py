"""The client side of the MCP SDK: transports over stdio and HTTP, and a session that lists and calls tools."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types
import msgspec
from mcp import Client, MCPError
from mcp.client import ClientRequestContext, IncomingMessage
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.message import SessionMessage
from pydantic import FileUrl, TypeAdapter, ValidationError

from robota.extensions.mcp.definitions import HttpServer
from robota.extensions.mcp.elicitation import AskUser, is_confirmed, open_page_question, request_values
from robota.extensions.mcp.http_client import NotSignedIn, http_client
from robota.extensions.mcp.remote_prompt import MAX_PROMPTS, PromptParameter, RemotePrompt
from robota.extensions.mcp.remote_tool import MAX_TOOLS, RemoteTool
from robota.extensions.mcp.sign_in import Browser, SignInNeeded, new_sign_in, stored_sign_in
from robota.extensions.mcp.sign_in_store import SignInStore
from robota.protocol.asks.ask import ElicitationAsk
from robota.version import VERSION
from robota.workspace.process.line_process import MAX_LINE_BYTES, LineProcess

MAX_PAGES: Final = 50
# Errors reach the caller; log lines on standard error would disturb the terminal.
logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)

MAX_RESOURCES: Final = 1000
MAX_INPUT_ROUNDS: Final = 10
MAX_SUBSCRIPTIONS: Final = 5
# Errors in listing prompts, after which a server is still used for its tools.
LISTING_ERRORS: Final = (MCPError, ValidationError)
CALL_RESULT: Final = TypeAdapter[mcp_types.CallToolResult | mcp_types.InputRequiredResult](
    mcp_types.CallToolResult | mcp_types.InputRequiredResult
)

Streams = tuple[Any, Any]


class ClientCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a server may use of the client: the directories it may work in, and questions to the user."""

    roots: tuple[Path, ...]
    ask: AskUser


class RemoteResource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource that a server lists."""

    uri: str
    name: str


class McpSession:
    """An initialised session with a server. `list_is_stale` becomes true when it says that its tools changed."""

    def __init__(
        self,
        transport: AbstractAsyncContextManager[Streams],
        server: str,
        client: ClientCapabilities,
        *,
        is_legacy: bool,
    ) -> None:
        """`is_legacy` leaves out the request for the protocol version, which some old servers do not survive."""
        self._server = server
        self._capabilities = client
        self._client = Client(
            transport,
            mode="legacy" if is_legacy else "auto",
            cache=None,
            client_info=mcp_types.Implementation(name="robota", version=VERSION),
            message_handler=self._on_message,
            list_roots_callback=self._list_roots,
            elicitation_callback=self._elicit,
        )
        self.list_is_stale = False

    async def __aenter__(self) -> "McpSession":
        await self._client.__aenter__()
        self._watching = asyncio.create_task(self._watch_tools())
        return self

    async def __aexit__(self, *ended: Any) -> None:
        # It is not waited for: where the connection broke, waiting would be cancelled, and the client never left.
        self._watching.cancel()
        await self._client.__aexit__(*ended)

    async def _watch_tools(self) -> None:
        """Subscribe to changes: since 2026 servers announce them only to subscribers. `_on_message` gets them."""
        offered = self._client.server_capabilities.tools
        if offered is None or not offered.list_changed:
            return
        for _ in range(MAX_SUBSCRIPTIONS):
            try:
                async with self._client.listen(tools_list_changed=True) as changes:
                    async for _change in changes:
                        pass
            except SubscriptionLost:
                pass
            except (ListenNotSupportedError, MCPError, TimeoutError):
                return
            # What changed while nobody listened is unknown.
            self.list_is_stale = True

    async def tools(self) -> tuple[RemoteTool, ...]:
        """The current tools, up to one more than `MAX_TOOLS`, which shows that there are more."""
        self.list_is_stale = False
        tools = await _all_pages(lambda cursor: self._client.list_tools(cursor=cursor), "tools", MAX_TOOLS + 1)
        return tuple(map(_remote_tool, tools))

    async def prompts(self) -> tuple[RemotePrompt, ...]:
        """The prompts of the server, up to `MAX_PROMPTS`."""
        if self._client.server_capabilities.prompts is None:
            return ()
        prompts = await _all_pages(lambda cursor: self._client.list_prompts(cursor=cursor), "prompts", MAX_PROMPTS)
        return tuple(map(_remote_prompt, prompts))

    @property
    def has_resources(self) -> bool:
        return self._client.server_capabilities.resources is not None

    async def resources(self) -> tuple[RemoteResource, ...]:
        """The resources that the server lists, up to `MAX_RESOURCES`."""
        resources = await _all_pages(
            lambda cursor: self._client.list_resources(cursor=cursor), "resources", MAX_RESOURCES
        )
        return tuple(RemoteResource(uri=str(resource.uri), name=resource.name) for resource in resources)

    async def prompt(self, name: str, arguments: dict[str, str]) -> mcp_types.GetPromptResult:
        return await self._client.get_prompt(name, arguments)

    async def resource(self, uri: str) -> mcp_types.ReadResourceResult:
        return await self._client.read_resource(uri)

    async def call(
        self, tool: str, arguments: dict[str, Any], on_progress: Callable[[str], None]
    ) -> mcp_types.CallToolResult:
        """Call a tool, and answer the input requests of the server."""
        answer = await self._send_call(on_progress, name=tool, arguments=arguments)
        for _ in range(MAX_INPUT_ROUNDS):
            if isinstance(answer, mcp_types.CallToolResult):
                return answer
            responses = {
                key: await self._respond(key, request) for key, request in (answer.input_requests or {}).items()
            }
            state = {"input_responses": responses, "request_state": answer.request_state}
            answer = await self._send_call(on_progress, name=tool, arguments=arguments, **state)
        raise MCPError(mcp_types.INVALID_REQUEST, "it asked for something again and again")

    async def _send_call(
        self, on_progress: Callable[[str], None], **params: Any
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        async def show(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
            on_progress(f"{share} {message or ''}".rstrip())

        # Not `call_tool`: it validates the result by a schema of the server, in which a pattern can take for ever.
        request = mcp_types.CallToolRequest(params=mcp_types.CallToolRequestParams(**params))
        return await self._client.session.send_request(request, CALL_RESULT, progress_callback=show)

    async def _respond(self, key: str, request: mcp_types.InputRequest) -> mcp_types.InputResponse:
        context = ClientRequestContext(session=self._client.session, request_id=key)
        response = await self._client.session.dispatch_input_request(context, request)
        if isinstance(response, mcp_types.ErrorData):
            raise MCPError.from_error_data(response)
        return response

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.list_is_stale = True

    async def _list_roots(self, context: ClientRequestContext) -> mcp_types.ListRootsResult:
        roots = [mcp_types.Root(uri=FileUrl(path.as_uri()), name=path.name) for path in self._capabilities.roots]
        return mcp_types.ListRootsResult(roots=roots)

    async def _elicit(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult:
        if isinstance(params, mcp_types.ElicitRequestURLParams):
            question = open_page_question(self._server, params.message, params.url)
            is_agreed = await is_confirmed(self._server, question, self._capabilities.ask)
            return mcp_types.ElicitResult(action="accept" if is_agreed else "decline")
        values = await request_values(
            self._server, params.message, dict(params.requested_schema), self._capabilities.ask
        )
        if values is None:
            return mcp_types.ElicitResult(action="decline")
        return mcp_types.ElicitResult(action="accept", content={**values})


async def _all_pages(fetch: Callable[[str | None], Awaitable[Any]], attribute: str, limit: int) -> list[Any]:
    items: list[Any] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await fetch(cursor)
        items += getattr(page, attribute)
        cursor = page.next_cursor
        if cursor is None or len(items) >= limit:
            break
    return items[:limit]


def _remote_prompt(prompt: mcp_types.Prompt) -> RemotePrompt:
    parameters = (PromptParameter(name=arg.name, is_required=arg.required is True) for arg in prompt.arguments or ())
    return RemotePrompt(name=prompt.name, description=prompt.description or "", parameters=tuple(parameters))


def _remote_tool(tool: mcp_types.Tool) -> RemoteTool:
    return RemoteTool(
        name=tool.name,
        description=tool.description or "",
        schema=tool.input_schema,
        needs_task=tool.execution is not None and tool.execution.task_support == "required",
    )


@asynccontextmanager
async def stdio_transport(process: LineProcess, on_invalid_line: Callable[[bytes], None]) -> AsyncIterator[Streams]:
    """The streams of a program that speaks one JSON message per line. Other lines go to `on_invalid_line`."""
    to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](0)

    async def listen() -> None:
        async with to_us:
            async for line in process.lines():
                try:
                    message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    on_invalid_line(line)
                    continue
                await to_us.send(SessionMessage(message))

    async def speak() -> None:
        async with from_us:
            async for message in from_us:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await process.write_line(text.encode())
                except OSError:
                    # The program does not read any more: end the stream, so that the session notices.
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
async def http_transport(server: HttpServer, auth: OAuthClientProvider | None = None) -> AsyncIterator[Streams]:
    """The streams of a server over HTTP."""
    async with (
        http_client(server.headers, MAX_LINE_BYTES, auth) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_LINE_BYTES) as streams,
    ):
        yield streams


def signed_in_http_transport(server: HttpServer, sign_ins: SignInStore) -> AbstractAsyncContextManager[Streams]:
    """The streams of a server over HTTP with the stored sign-in, unless its entry has an Authorization header."""
    has_own_header = any(name.lower() == "authorization" for name in server.headers)
    return http_transport(server, None if has_own_header else stored_sign_in(server.name, server.url, sign_ins))


async def sign_in(server: HttpServer, sign_ins: SignInStore, browser: Browser) -> int:
    """Let the user sign in and list the tools of the server; returns their number."""

    async def nobody(asked: ElicitationAsk) -> str | None:
        return None

    transport = http_transport(server, new_sign_in(server.url, sign_ins, browser))
    capabilities = ClientCapabilities(roots=(), ask=nobody)
    async with McpSession(transport, server.name, capabilities, is_legacy=False) as session:
        return len(await session.tools())


def is_disconnect(error: Exception) -> bool:
    """Whether the connection is broken, rather than the server having answered with an error."""
    return isinstance(error, MCPError) and error.code == mcp_types.CONNECTION_CLOSED


def is_not_signed_in(error: BaseException) -> bool:
    """Whether the server requires a sign-in, and there is none or it is no longer valid."""
    return isinstance(error, NotSignedIn | SignInNeeded)
