"""The one place where the MCP SDK is driven: from a line process or a URL to a session that lists and calls tools."""

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
from mcp.shared.message import SessionMessage
from pydantic import FileUrl, TypeAdapter, ValidationError

from robota.extensions.mcp.definitions import HttpServer
from robota.extensions.mcp.elicitation import AskPerson, filled_in, is_agreed_to, page_question
from robota.extensions.mcp.http_client import NotSignedIn, http_client
from robota.extensions.mcp.remote_prompt import MOST_PROMPTS, PromptParameter, RemotePrompt
from robota.extensions.mcp.remote_tool import MOST_TOOLS, RemoteTool
from robota.extensions.mcp.sign_in import Browser, kept_sign_in, new_sign_in
from robota.extensions.mcp.sign_in_store import SignInStore
from robota.protocol.asks.ask import ElicitationAsk
from robota.version import VERSION
from robota.workspace.process.line_process import LONGEST_LINE, LineProcess

MOST_PAGES: Final = 50
# What goes wrong on the way is told by whoever called; on standard error it would only be in the way.
logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)

MOST_RESOURCES: Final = 1000
MOST_ROUNDS: Final = 10
# What a server may do wrong when it lists its prompts, and yet be used for its tools.
UNUSABLE_LIST: Final = (MCPError, ValidationError)
CALL_ANSWER: Final = TypeAdapter[mcp_types.CallToolResult | mcp_types.InputRequiredResult](
    mcp_types.CallToolResult | mcp_types.InputRequiredResult
)

Streams = tuple[Any, Any]


class ClientSide(msgspec.Struct, frozen=True, kw_only=True):
    """What a server may use of us: the directories it may work in, and questions to the person."""

    roots: tuple[Path, ...]
    ask: AskPerson


class RemoteResource(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a server lets us read."""

    uri: str
    name: str


class RemoteSession:
    """A server that has greeted us. `list_is_stale` becomes true when it says that its tools changed."""

    def __init__(
        self, transport: AbstractAsyncContextManager[Streams], server: str, client: ClientSide, *, the_old_way: bool
    ) -> None:
        """A server is asked first which version it speaks, which `the_old_way` leaves out."""
        self._server = server
        self._side = client
        self._client = Client(
            transport,
            mode="legacy" if the_old_way else "auto",
            cache=None,
            client_info=mcp_types.Implementation(name="robota", version=VERSION),
            message_handler=self._hear,
            list_roots_callback=self._list_roots,
            elicitation_callback=self._elicit,
        )
        self.list_is_stale = False

    async def __aenter__(self) -> "RemoteSession":
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *ended: Any) -> None:
        await self._client.__aexit__(*ended)

    async def tools(self) -> tuple[RemoteTool, ...]:
        """What it offers now, page by page within bounds. One more than may be used shows that there are more."""
        self.list_is_stale = False
        found = await _all_pages(lambda cursor: self._client.list_tools(cursor=cursor), "tools", MOST_TOOLS + 1)
        return tuple(map(_remote_tool, found))

    async def prompts(self) -> tuple[RemotePrompt, ...]:
        """The prompts it has, within bounds; none where it says that it has none."""
        if self._client.server_capabilities.prompts is None:
            return ()
        found = await _all_pages(lambda cursor: self._client.list_prompts(cursor=cursor), "prompts", MOST_PROMPTS)
        return tuple(map(_remote_prompt, found))

    @property
    def has_resources(self) -> bool:
        return self._client.server_capabilities.resources is not None

    async def resources(self) -> tuple[RemoteResource, ...]:
        """The resources it lists, within bounds."""
        found = await _all_pages(lambda cursor: self._client.list_resources(cursor=cursor), "resources", MOST_RESOURCES)
        return tuple(RemoteResource(uri=str(each.uri), name=each.name) for each in found)

    async def prompt(self, name: str, arguments: dict[str, str]) -> mcp_types.GetPromptResult:
        return await self._client.get_prompt(name, arguments)

    async def resource(self, uri: str) -> mcp_types.ReadResourceResult:
        return await self._client.read_resource(uri)

    async def call(
        self, tool: str, arguments: dict[str, Any], on_progress: Callable[[str], None]
    ) -> mcp_types.CallToolResult:
        """Call a tool, and answer what the server wants to know for it."""
        answer = await self._send_call(on_progress, name=tool, arguments=arguments)
        for _ in range(MOST_ROUNDS):
            if isinstance(answer, mcp_types.CallToolResult):
                return answer
            responses = {key: await self._respond(key, each) for key, each in (answer.input_requests or {}).items()}
            state = {"input_responses": responses, "request_state": answer.request_state}
            answer = await self._send_call(on_progress, name=tool, arguments=arguments, **state)
        raise MCPError(mcp_types.INVALID_REQUEST, "it asked for something again and again")

    async def _send_call(
        self, on_progress: Callable[[str], None], **params: Any
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        async def show(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
            on_progress(f"{share} {message or ''}".rstrip())

        # Not `call_tool`: that checks the result by a schema of the server's, and a pattern in one can take for ever.
        request = mcp_types.CallToolRequest(params=mcp_types.CallToolRequestParams(**params))
        return await self._client.session.send_request(request, CALL_ANSWER, progress_callback=show)

    async def _respond(self, key: str, request: mcp_types.InputRequest) -> mcp_types.InputResponse:
        context = ClientRequestContext(session=self._client.session, request_id=key)
        response = await self._client.session.dispatch_input_request(context, request)
        if isinstance(response, mcp_types.ErrorData):
            raise MCPError.from_error_data(response)
        return response

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.list_is_stale = True

    async def _list_roots(self, context: ClientRequestContext) -> mcp_types.ListRootsResult:
        roots = [mcp_types.Root(uri=FileUrl(path.as_uri()), name=path.name) for path in self._side.roots]
        return mcp_types.ListRootsResult(roots=roots)

    async def _elicit(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult:
        if isinstance(params, mcp_types.ElicitRequestURLParams):
            question = page_question(self._server, params.message, params.url)
            is_agreed = await is_agreed_to(self._server, question, self._side.ask)
            return mcp_types.ElicitResult(action="accept" if is_agreed else "decline")
        values = await filled_in(self._server, params.message, dict(params.requested_schema), self._side.ask)
        if values is None:
            return mcp_types.ElicitResult(action="decline")
        return mcp_types.ElicitResult(action="accept", content={**values})


async def _all_pages(fetch: Callable[[str | None], Awaitable[Any]], items: str, most: int) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await fetch(cursor)
        found += getattr(page, items)
        cursor = page.next_cursor
        if cursor is None or len(found) >= most:
            break
    return found[:most]


def _remote_prompt(prompt: mcp_types.Prompt) -> RemotePrompt:
    parameters = (PromptParameter(name=each.name, is_required=each.required is True) for each in prompt.arguments or ())
    return RemotePrompt(name=prompt.name, description=prompt.description or "", parameters=tuple(parameters))


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
async def over_http(server: HttpServer, auth: OAuthClientProvider | None = None) -> AsyncIterator[Streams]:
    """Streams to a server that is reached by its URL."""
    async with (
        http_client(server.headers, LONGEST_LINE, auth) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=LONGEST_LINE) as streams,
    ):
        yield streams


def over_http_as_kept(server: HttpServer, sign_ins: SignInStore) -> AbstractAsyncContextManager[Streams]:
    """The same with the sign-in that is kept, unless the entry itself says who we are."""
    says_who = any(name.lower() == "authorization" for name in server.headers)
    return over_http(server, None if says_who else kept_sign_in(server.name, server.url, sign_ins))


async def sign_in_by(server: HttpServer, sign_ins: SignInStore, browser: Browser) -> int:
    """Let a person sign in, and see that it works; returns how many tools the server has."""

    async def nobody(asked: ElicitationAsk) -> str | None:
        return None

    transport = over_http(server, new_sign_in(server.url, sign_ins, browser))
    side = ClientSide(roots=(), ask=nobody)
    async with RemoteSession(transport, server.name, side, the_old_way=False) as session:
        return len(await session.tools())


def is_cut_off(error: Exception) -> bool:
    """Whether the line is broken, and the other side did not merely answer with an error."""
    return isinstance(error, MCPError) and error.code == mcp_types.CONNECTION_CLOSED


def is_not_signed_in(error: BaseException) -> bool:
    """Whether the server wants a sign-in that there is not."""
    return isinstance(error, NotSignedIn)
