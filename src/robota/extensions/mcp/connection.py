"""The connection to one MCP server, from its start to its end. Every failure of a server becomes `ServerFailed`.

The SDK must be entered and left in the same asyncio task, so each connection has a task of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from robota.contracts.tool import ToolResult
from robota.extensions.mcp.definitions import HttpServer, Server, StdioServer
from robota.extensions.mcp.elicitation import AskUser
from robota.extensions.mcp.remote_prompt import RemotePrompt
from robota.extensions.mcp.remote_tool import RemoteTool
from robota.extensions.mcp.server_failure import APPROVE, SIGN_IN, ServerFailed
from robota.extensions.mcp.sign_in_store import SignInStore
from robota.protocol.asks.ask import ElicitationAsk
from robota.text.visible import visible
from robota.workspace.outside_code.code_search import NamedProgram
from robota.workspace.outside_code.outside_code import CodeRefused, OutsideCode
from robota.workspace.outside_program import ProgramStart
from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.line_process import LineProcess
from robota.workspace.process.withheld_variables import NOTHING_NAMED, WithheldVariables

if TYPE_CHECKING:
    from robota.extensions.mcp.sdk import McpSession, RemoteResource

Answer = TypeVar("Answer")

CLOSE_S: Final = 4.0
PROMPTS_S: Final = 5.0  # a server that is slower to list its prompts is used only for its tools
MAX_QUOTED: Final = 500
MAX_ERROR: Final = 2000


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The caller's side of a call: `show_progress` shows messages, `ask` answers questions of the server."""

    show_progress: Callable[[str], None]
    ask: AskUser
    sees_images: bool


class ServerEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """What servers start with: the directory, the variables that are withheld, and the roots they may work in."""

    code: OutsideCode
    cwd: Path
    sign_ins: SignInStore
    withheld: WithheldVariables = NOTHING_NAMED
    roots: tuple[Path, ...] = ()


class McpConnection:
    """A server and the session with it. Call `open` first, and `close` in the end, even if `open` failed."""

    def __init__(self, server: Server, environment: ServerEnvironment) -> None:
        self.server = server
        self.prompts: tuple[RemotePrompt, ...] = ()
        self.has_resources = False
        self._environment = environment
        self._caller: Caller | None = None  # while a call runs; calls run one at a time
        self._limit: asyncio.Timeout | None = None
        self._pending_question: asyncio.Task[str | None] | None = None
        self._process: LineProcess | None = None
        self._session: McpSession | None = None
        self._serve_task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._opened: asyncio.Future[tuple[RemoteTool, ...]] = asyncio.get_running_loop().create_future()
        self._current_digests: frozenset[str] | None = None  # known once the server said that its tools changed
        self._invalid_lines: tuple[int, bytes] = (0, b"")
        self._end: ServerFailed | None = None  # why it is gone

    @property
    def stderr_tail(self) -> str:
        """The end of its standard error; empty for a server over HTTP."""
        return visible(self._process.last_words) if self._process is not None else ""

    async def open(self, limit_s: float) -> tuple[RemoteTool, ...]:
        """Start the server and list its tools. Raises `ServerFailed`."""
        self._start_process()
        self._serve_task = asyncio.create_task(self._serve())
        try:
            async with asyncio.timeout(limit_s):
                return await asyncio.shield(self._opened)
        except TimeoutError as error:
            self._serve_task.cancel()
            raise ServerFailed(f"it was not ready within {limit_s:g} s{self._invalid_lines_note()}") from error

    async def call(self, tool: RemoteTool, arguments: dict[str, Any], caller: Caller) -> ToolResult:
        """Call a tool, unless the server changed its definition. Raises `ServerFailed`."""

        async def work(session: "McpSession") -> ToolResult:
            # Cheap now: the session has loaded the SDK.
            from robota.extensions.mcp.results import tool_result

            await self._require_unchanged(session, tool)
            answer = await session.call(tool.name, arguments, caller.show_progress)
            return tool_result(self.server.name, answer, sees_images=caller.sees_images)

        self._caller = caller
        try:
            return await self._request(work)
        finally:
            self._caller = None
            if self._pending_question is not None:
                self._pending_question.cancel()

    async def prompt_text(self, prompt: RemotePrompt, arguments: dict[str, str]) -> str:
        """The text of a prompt with these arguments. Raises `ServerFailed`."""

        async def work(session: "McpSession") -> str:
            from robota.extensions.mcp.results import prompt_text

            return prompt_text(await session.prompt(prompt.name, arguments))

        return await self._request(work)

    async def read_resource(self, uri: str) -> ToolResult:
        """The content of a resource. Raises `ServerFailed`."""

        async def work(session: "McpSession") -> ToolResult:
            from robota.extensions.mcp.results import resource_result

            return resource_result(self.server.name, await session.resource(uri))

        return await self._request(work)

    async def resources(self) -> "tuple[RemoteResource, ...]":
        """The resources that the server lists. Raises `ServerFailed`."""
        return await self._request(lambda session: session.resources())

    async def _request(self, work: "Callable[[McpSession], Awaitable[Answer]]") -> Answer:
        """Run `work` within the time limit of a call. Any error becomes `ServerFailed`."""
        session = self._session
        if session is None:
            end = self._end or ServerFailed("it was closed")
            raise ServerFailed(f"it is gone: {end}. It starts again with the next session", end.remedy)
        limit_s = self.server.call_timeout_s
        try:
            async with asyncio.timeout(limit_s) as self._limit:
                return await work(session)
        except TimeoutError as error:
            raise ServerFailed(f"it did not answer within {limit_s:g} s{self._invalid_lines_note()}") from error
        except ServerFailed:
            raise
        except Exception as error:  # A border: a faulty server can raise anything.
            raise (await self._disconnect_reason(error) or await self._explain(error)) from error

    async def _ask_user(self, asked: ElicitationAsk) -> str | None:
        """Pass a question of the server to the caller, with the call timeout paused. None if no call runs."""
        caller, limit = self._caller, self._limit
        if caller is None or limit is None:
            return None
        loop = asyncio.get_running_loop()
        left_s = (limit.when() or loop.time()) - loop.time()
        limit.reschedule(None)
        self._pending_question = asyncio.ensure_future(caller.ask(asked))
        try:
            await asyncio.wait([self._pending_question])
            return None if self._pending_question.cancelled() else self._pending_question.result()
        finally:
            self._pending_question.cancel()
            if self._caller is caller:
                limit.reschedule(loop.time() + left_s)

    async def close(self) -> None:
        """Stop the server, in bounded time."""
        self._closing.set()
        if self._serve_task is None:
            return
        await asyncio.wait({self._serve_task}, timeout=CLOSE_S)
        if self._serve_task.cancel():
            await asyncio.wait({self._serve_task}, timeout=CLOSE_S)

    def _start_process(self) -> None:
        if isinstance(self.server, StdioServer):
            try:
                self._process = LineProcess(self._program(self.server), self._environment.withheld)
            except CommandNotStarted as problem:
                raise ServerFailed(str(problem)) from problem

    def _program(self, server: StdioServer) -> ProgramStart:
        named, code = server_program(server, self._environment.cwd), self._environment.code
        try:
            verified = code.verify(named)
        except CodeRefused as problem:
            raise ServerFailed(f"it was not started: {problem}") from problem
        return ProgramStart(
            argv=named.argv,
            workspace=code.root,
            cwd=named.cwd,
            env={**server.env, **verified.variables},
            verified=verified.files,
        )

    async def _serve(self) -> None:
        try:
            # Loading the SDK takes about as long as most servers need to start, so both happen at the same time.
            await asyncio.to_thread(import_module, "robota.extensions.mcp.sdk")
            await self._run_with_fallback()
        except Exception as error:  # noqa: BLE001 - a border: a faulty server can raise anything
            self._end = await self._explain(error)
            if not self._opened.done():
                self._opened.set_exception(self._end)
        finally:
            self._session = None
            if self._process is not None:
                await self._process.stop()

    async def _run_with_fallback(self) -> None:
        """Run the session. Some old servers exit at the version request; these are restarted in legacy mode."""
        try:
            await self._run_session()
        except Exception:
            if self._process is None or not self._process.is_silent or self._opened.done():
                raise
            await self._process.stop()
            self._start_process()
            await self._run_session(is_legacy=True)

    async def _run_session(self, *, is_legacy: bool = False) -> None:
        from robota.extensions.mcp.sdk import LISTING_ERRORS, ClientCapabilities, McpSession

        capabilities = ClientCapabilities(roots=self._environment.roots, ask=self._ask_user)
        async with McpSession(self._transport(), self.server.name, capabilities, is_legacy=is_legacy) as session:
            tools = await session.tools()
            with suppress(TimeoutError, *LISTING_ERRORS):
                async with asyncio.timeout(PROMPTS_S):
                    self.prompts = await session.prompts()
            self.has_resources = session.has_resources
            self._session = session
            if not self._opened.done():
                self._opened.set_result(tools)
            await self._closing.wait()

    def _transport(self) -> AbstractAsyncContextManager[tuple[Any, Any]]:
        from robota.extensions.mcp.sdk import signed_in_http_transport, stdio_transport

        if isinstance(self.server, HttpServer):
            return signed_in_http_transport(self.server, self._environment.sign_ins)
        assert self._process is not None
        return stdio_transport(self._process, self._note_invalid_line)

    async def _require_unchanged(self, session: "McpSession", tool: RemoteTool) -> None:
        if session.list_is_stale:
            self._current_digests = frozenset(current.digest for current in await session.tools())
        if self._current_digests is not None and tool.digest not in self._current_digests:
            raise ServerFailed(
                "it changed this tool during the session, so the call was not made. The user must accept the change "
                "first",
                APPROVE.format(server=self.server.name),
            )

    async def _disconnect_reason(self, error: Exception) -> ServerFailed | None:
        """Why the connection to an HTTP server broke: only the session task sees the cause, not the call."""
        from robota.extensions.mcp.sdk import is_disconnect

        if self._process is not None or self._serve_task is None or not is_disconnect(error):
            return None
        await asyncio.wait({self._serve_task}, timeout=CLOSE_S)
        return self._end

    async def _explain(self, error: BaseException) -> ServerFailed:
        from robota.extensions.mcp.sdk import is_not_signed_in

        if self._process is None or not self._process.is_silent:
            cause = _innermost(error)
            if is_not_signed_in(cause):
                return ServerFailed(str(cause), SIGN_IN.format(server=self.server.name))
            return ServerFailed((visible(str(cause)) or type(cause).__name__)[:MAX_ERROR])
        self._end = ServerFailed(await self._process.how_it_ended())
        self._closing.set()
        printed = self.stderr_tail.strip()[-MAX_QUOTED:]
        return ServerFailed(
            f"{self._end}{self._invalid_lines_note()}" + (f". Its last output: {printed}" if printed else "")
        )

    def _note_invalid_line(self, line: bytes) -> None:
        self._invalid_lines = (self._invalid_lines[0] + 1, line[:MAX_QUOTED])

    def _invalid_lines_note(self) -> str:
        count, line = self._invalid_lines
        last = visible(line.decode("utf-8", "replace"))
        return f" (lines that are not of the protocol: {count}, the last: {last!r})" if count else ""


def server_program(server: StdioServer, cwd: Path) -> NamedProgram:
    """The program of a server."""
    argv = (server.command, *server.args)
    return NamedProgram(label=f"MCP server {server.name}", argv=argv, cwd=cwd, variables=server.env)


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
