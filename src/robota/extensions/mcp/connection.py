"""One server: started, greeted, asked, ended. Whatever it does, the worst that comes of it is `ServerFailed`.

The SDK wants to be entered and left by one and the same asyncio task, so each connection has a task of its own.
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
from robota.extensions.mcp.elicitation import AskPerson
from robota.extensions.mcp.remote_prompt import RemotePrompt
from robota.extensions.mcp.remote_tool import RemoteTool
from robota.extensions.mcp.sign_in_store import SignInStore
from robota.protocol.asks.ask import ElicitationAsk
from robota.text.visible import visible
from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.line_process import LineProcess
from robota.workspace.process.withheld_variables import NOTHING_NAMED, WithheldVariables

if TYPE_CHECKING:
    from robota.extensions.mcp.sdk import RemoteResource, RemoteSession

Answered = TypeVar("Answered")

CLOSE_S: Final = 4.0
PROMPTS_S: Final = 5.0  # a server that cannot list its prompts is used for its tools
QUOTED: Final = 500
LONGEST_ERROR: Final = 2000


class ServerFailed(Exception):
    """The server did not do what it should. The text goes after its name: "it ended with exit code 3"."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who makes a call: where progress is shown, who answers questions of the server, what the model can look at."""

    show_progress: Callable[[str], None]
    ask: AskPerson
    sees_images: bool


class ServerPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where servers run: the directory they start in, those they may work in, what they do not get, who signed in."""

    cwd: Path
    sign_ins: SignInStore
    withheld: WithheldVariables = NOTHING_NAMED
    roots: tuple[Path, ...] = ()


class McpConnection:
    """A server and our line to it. `open` first, `close` in the end, also if `open` failed."""

    def __init__(self, server: Server, place: ServerPlace) -> None:
        self.server = server
        self.prompts: tuple[RemotePrompt, ...] = ()
        self.has_resources = False
        self._place = place
        self._caller: Caller | None = None  # while a call runs; there is one at a time
        self._limit: asyncio.Timeout | None = None
        self._asking: asyncio.Task[str | None] | None = None
        self._process: LineProcess | None = None
        self._session: RemoteSession | None = None
        self._serving: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._greeted: asyncio.Future[tuple[RemoteTool, ...]] = asyncio.get_running_loop().create_future()
        self._offered_now: frozenset[str] | None = None  # known after it said that something changed
        self._nonsense: tuple[int, bytes] = (0, b"")
        self._ended = ""

    @property
    def last_words(self) -> str:
        """The end of what it printed to standard error."""
        return visible(self._process.last_words) if self._process is not None else ""

    async def open(self, limit_s: float) -> tuple[RemoteTool, ...]:
        """Start it, and learn what it offers."""
        self._start_process()
        self._serving = asyncio.create_task(self._serve())
        try:
            async with asyncio.timeout(limit_s):
                return await asyncio.shield(self._greeted)
        except TimeoutError as error:
            self._serving.cancel()
            raise ServerFailed(f"it was not ready within {limit_s:g} s{self._about_nonsense()}") from error

    async def call(self, tool: RemoteTool, arguments: dict[str, Any], caller: Caller) -> ToolResult:
        """Let the server run the tool, if that is still the tool that was offered."""

        async def work(session: "RemoteSession") -> ToolResult:
            # Loaded since the session is.
            from robota.extensions.mcp.results import tool_result

            await self._require_unchanged(session, tool)
            answer = await session.call(tool.name, arguments, caller.show_progress)
            return tool_result(self.server.name, answer, sees_images=caller.sees_images)

        self._caller = caller
        try:
            return await self._ask_server(work)
        finally:
            self._caller = None
            if self._asking is not None:
                self._asking.cancel()

    async def prompt_text(self, prompt: RemotePrompt, arguments: dict[str, str]) -> str:
        """What the server makes of a prompt with these arguments."""

        async def work(session: "RemoteSession") -> str:
            from robota.extensions.mcp.results import text_of_prompt

            return text_of_prompt(await session.prompt(prompt.name, arguments))

        return await self._ask_server(work)

    async def read_resource(self, uri: str) -> ToolResult:
        """The content of a resource."""

        async def work(session: "RemoteSession") -> ToolResult:
            from robota.extensions.mcp.results import resource_result

            return resource_result(self.server.name, await session.resource(uri))

        return await self._ask_server(work)

    async def resources(self) -> "tuple[RemoteResource, ...]":
        """The resources that the server lists."""
        return await self._ask_server(lambda session: session.resources())

    async def _ask_server(self, work: "Callable[[RemoteSession], Awaitable[Answered]]") -> Answered:
        """Let the server do something within the time that a call may take; whatever goes wrong is `ServerFailed`."""
        session = self._session
        if session is None:
            raise ServerFailed(f"it is gone: {self._ended}. It starts again with the next session")
        limit_s = self.server.call_timeout_s
        try:
            async with asyncio.timeout(limit_s) as self._limit:
                return await work(session)
        except TimeoutError as error:
            raise ServerFailed(f"it did not answer within {limit_s:g} s{self._about_nonsense()}") from error
        except ServerFailed:
            raise
        except Exception as error:  # A border: what the other side does wrong has many shapes.
            raise ServerFailed(await self._why_cut_off(error) or await self._explained(error)) from error

    async def _ask_person(self, asked: ElicitationAsk) -> str | None:
        """Pass a question of the server on, while its time stands still. Nobody is asked unless a call runs."""
        caller, limit = self._caller, self._limit
        if caller is None or limit is None:
            return None
        loop = asyncio.get_running_loop()
        left_s = (limit.when() or loop.time()) - loop.time()
        limit.reschedule(None)
        self._asking = asyncio.ensure_future(caller.ask(asked))
        try:
            await asyncio.wait([self._asking])
            return None if self._asking.cancelled() else self._asking.result()
        finally:
            self._asking.cancel()
            if self._caller is caller:
                limit.reschedule(loop.time() + left_s)

    async def close(self) -> None:
        """End it, in bounded time."""
        self._closing.set()
        if self._serving is None:
            return
        await asyncio.wait({self._serving}, timeout=CLOSE_S)
        if self._serving.cancel():
            await asyncio.wait({self._serving}, timeout=CLOSE_S)

    def _start_process(self) -> None:
        if isinstance(self.server, StdioServer):
            try:
                argv = [self.server.command, *self.server.args]
                self._process = LineProcess(argv, self._place.cwd, self.server.env, self._place.withheld)
            except CommandNotStarted as problem:
                raise ServerFailed(str(problem)) from problem

    async def _serve(self) -> None:
        try:
            # Loading the SDK takes as long as most servers need to start: both at the same time.
            await asyncio.to_thread(import_module, "robota.extensions.mcp.sdk")
            await self._greet_and_converse()
        except Exception as error:  # noqa: BLE001 - a border: what the other side does wrong has many shapes
            self._ended = await self._explained(error)
            if not self._greeted.done():
                self._greeted.set_exception(ServerFailed(self._ended))
        finally:
            self._session = None
            if self._process is not None:
                await self._process.stop()

    async def _greet_and_converse(self) -> None:
        """Some older servers hang up when they are asked for the version first; those are greeted the old way."""
        try:
            await self._converse()
        except Exception:
            if self._process is None or not self._process.is_silent or self._greeted.done():
                raise
            await self._process.stop()
            self._start_process()
            await self._converse(the_old_way=True)

    async def _converse(self, *, the_old_way: bool = False) -> None:
        from robota.extensions.mcp.sdk import UNUSABLE_LIST, ClientSide, RemoteSession

        side = ClientSide(roots=self._place.roots, ask=self._ask_person)
        async with RemoteSession(self._transport(), self.server.name, side, the_old_way=the_old_way) as session:
            tools = await session.tools()
            with suppress(TimeoutError, *UNUSABLE_LIST):
                async with asyncio.timeout(PROMPTS_S):
                    self.prompts = await session.prompts()
            self.has_resources = session.has_resources
            self._session = session
            if not self._greeted.done():
                self._greeted.set_result(tools)
            await self._closing.wait()

    def _transport(self) -> AbstractAsyncContextManager[tuple[Any, Any]]:
        from robota.extensions.mcp.sdk import over_http_as_kept, over_lines

        if isinstance(self.server, HttpServer):
            return over_http_as_kept(self.server, self._place.sign_ins)
        assert self._process is not None
        return over_lines(self._process, self._note_nonsense)

    async def _require_unchanged(self, session: "RemoteSession", tool: RemoteTool) -> None:
        if session.list_is_stale:
            self._offered_now = frozenset(each.digest for each in await session.tools())
        if self._offered_now is not None and tool.digest not in self._offered_now:
            raise ServerFailed(
                "it changed this tool in mid-session, so the call was not made. A person can look at the change "
                f"and accept it for the next session: robota mcp approve {self.server.name}"
            )

    async def _why_cut_off(self, error: Exception) -> str | None:
        """Of a line to a far server that broke, the call learns only that it did; the conversation knows why."""
        from robota.extensions.mcp.sdk import is_cut_off

        if self._process is not None or self._serving is None or not is_cut_off(error):
            return None
        await asyncio.wait({self._serving}, timeout=CLOSE_S)
        return self._ended or None

    async def _explained(self, error: BaseException) -> str:
        from robota.extensions.mcp.sdk import is_not_signed_in

        if self._process is None or not self._process.is_silent:
            cause = _innermost(error)
            if is_not_signed_in(cause):
                return f"{cause}. Do that with: robota mcp login {self.server.name}"
            return (visible(str(cause)) or type(cause).__name__)[:LONGEST_ERROR]
        self._ended = await self._process.how_it_ended()
        self._closing.set()
        words = self.last_words.strip()[-QUOTED:]
        return f"{self._ended}{self._about_nonsense()}" + (f". Its last words: {words}" if words else "")

    def _note_nonsense(self, line: bytes) -> None:
        self._nonsense = (self._nonsense[0] + 1, line[:QUOTED])

    def _about_nonsense(self) -> str:
        count, line = self._nonsense
        last = visible(line.decode("utf-8", "replace"))
        return f" (lines that are not of the protocol: {count}, the last: {last!r})" if count else ""


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
