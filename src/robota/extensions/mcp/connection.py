"""One server: started, greeted, asked, ended. Whatever it does, the worst that comes of it is `ServerFailed`.

The SDK wants to be entered and left by one and the same asyncio task, so each connection has a task of its own.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from robota.contracts.tool import ToolResult
from robota.extensions.mcp.definitions import HttpServer, Server, StdioServer
from robota.extensions.mcp.remote_tool import RemoteTool
from robota.text.visible import visible
from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.line_process import LineProcess
from robota.workspace.process.withheld_variables import NOTHING_NAMED, WithheldVariables

if TYPE_CHECKING:
    from robota.extensions.mcp.sdk import RemoteSession

CLOSE_S: Final = 4.0
QUOTED: Final = 500
LONGEST_ERROR: Final = 2000


class ServerFailed(Exception):
    """The server did not do what it should. The text goes after its name: "it ended with exit code 3"."""


class McpConnection:
    """A server and our line to it. `open` first, `close` in the end, also if `open` failed."""

    def __init__(self, server: Server, cwd: Path, withheld: WithheldVariables = NOTHING_NAMED) -> None:
        self.server = server
        self._cwd = cwd
        self._withheld = withheld
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

    async def call(
        self, tool: RemoteTool, arguments: dict[str, Any], on_progress: Callable[[str], None], *, sees_images: bool
    ) -> ToolResult:
        """Let the server run the tool, if that is still the tool that was offered."""
        session = self._session
        if session is None:
            raise ServerFailed(f"it is gone: {self._ended}. It starts again with the next session")
        # Loaded since the session is.
        from robota.extensions.mcp.results import tool_result

        limit_s = self.server.call_timeout_s
        try:
            async with asyncio.timeout(limit_s):
                await self._require_unchanged(session, tool)
                answer = await session.call(tool.name, arguments, on_progress)
        except TimeoutError as error:
            raise ServerFailed(f"it did not answer within {limit_s:g} s{self._about_nonsense()}") from error
        except ServerFailed:
            raise
        except Exception as error:  # A border: what the other side does wrong has many shapes.
            raise ServerFailed(await self._why_cut_off(error) or await self._explained(error)) from error
        return tool_result(self.server.name, answer, sees_images=sees_images)

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
                self._process = LineProcess(argv, self._cwd, self.server.env, self._withheld)
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
        from robota.extensions.mcp.sdk import RemoteSession

        async with RemoteSession(self._transport(), the_old_way=the_old_way) as session:
            tools = await session.tools()
            self._session = session
            if not self._greeted.done():
                self._greeted.set_result(tools)
            await self._closing.wait()

    def _transport(self) -> AbstractAsyncContextManager[tuple[Any, Any]]:
        from robota.extensions.mcp.sdk import over_http, over_lines

        if isinstance(self.server, HttpServer):
            return over_http(self.server)
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
        if self._process is None or not self._process.is_silent:
            cause = _innermost(error)
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
