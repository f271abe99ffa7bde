"""All servers of a session: started side by side, compared with what a person has seen, and ended together."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.config.errors import ConfigError
from robota.contracts.tool import AnyTool
from robota.extensions.mcp.connection import McpConnection, ServerFailed, ServerPlace
from robota.extensions.mcp.definitions import Server
from robota.extensions.mcp.mcp_tool import mcp_tool
from robota.extensions.mcp.pinned_tools import PinnedTools, PinnedToolStore, ToolChange, changes
from robota.extensions.mcp.remote_tool import MOST_TOOLS, RemoteTool, UnusableTool, tool_name
from robota.extensions.mcp.resource_tool import resource_tool
from robota.extensions.mcp.sign_in_store import SignInStore
from robota.protocol.events import McpServerState, McpServerStatus, Notice
from robota.text.visible import single_line
from robota.workspace.process.withheld_variables import NOTHING_NAMED, WithheldVariables

START_LIMIT_S: Final = 30.0
START_LIMIT_VARIABLE: Final = "MCP_TIMEOUT"  # milliseconds
LATE_S: Final = 3.0  # from here on a person wants to know what they wait for
MOST_NAMED: Final = 10


class ServerReport(msgspec.Struct, frozen=True, kw_only=True):
    """How one server is: `failure` says why it cannot be used; `pins` is None if it was never seen here.

    `unknown` says why nobody can tell what a person has seen of it; then nothing of it is used. `has_more`: it offers
    more tools than these, which are never used.
    """

    connection: McpConnection
    tools: tuple[RemoteTool, ...] = ()
    failure: str | None = None
    pins: PinnedTools | None = None
    changes: tuple[ToolChange, ...] = ()
    unknown: str | None = None
    has_more: bool = False

    @property
    def server(self) -> Server:
        return self.connection.server

    @property
    def is_usable(self) -> bool:
        return self.failure is None and self.unknown is None

    @property
    def state(self) -> McpServerState:
        """What clients are told of it."""
        status = McpServerStatus.CONNECTED if self.is_usable else McpServerStatus.FAILED
        return McpServerState(name=self.server.name, status=status)


class GatheredTools(msgspec.Struct, frozen=True, kw_only=True):
    """What a session gets of its servers, and what the person should know of them."""

    tools: tuple[AnyTool, ...] = ()
    servers: tuple[McpServerState, ...] = ()
    notices: tuple[Notice, ...] = ()


class McpServers:
    """The servers of one session. `close` ends them all."""

    def __init__(
        self,
        servers: Sequence[Server],
        cwd: Path,
        pins: PinnedToolStore,
        env: Mapping[str, str],
        withheld: WithheldVariables = NOTHING_NAMED,
    ) -> None:
        """`withheld` says which variables of our environment they do not get."""
        roots = () if cwd == Path(cwd.anchor) else (cwd,)
        self._place = ServerPlace(cwd=cwd, sign_ins=SignInStore(env), withheld=withheld, roots=roots)
        self.pins = pins
        self._servers = servers
        self._limit_s = _start_limit_s(env)
        self._connections: list[McpConnection] = []
        self._not_ready: set[str] = set()
        self.usable: tuple[McpConnection, ...] = ()  # those that work, once they were gathered

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(server.name for server in self._servers)

    @property
    def pending(self) -> tuple[McpServerState, ...]:
        """All of them, before they are started."""
        return tuple(McpServerState(name=name, status=McpServerStatus.PENDING) for name in self.names)

    async def gather(self, taken: Collection[str], tell: Callable[[Notice], None]) -> GatheredTools:
        """Start all, and take what may be used. Names that are `taken` stay with who has them.

        `tell` is called while somebody has to wait.
        """
        names, tools, notices = set(taken), list[AnyTool](), list[str]()
        late = asyncio.get_running_loop().call_later(LATE_S, lambda: tell(self._waiting_notice()))
        try:
            reports = await self.inspect()
        finally:
            late.cancel()
        self.usable = tuple(report.connection for report in reports if report.is_usable)
        for report in reports:
            problem = self._problem_with(report)
            if problem is not None:
                notices.append(problem)
            if report.is_usable:
                notices += self._add_tools(report, names, tools)
        return GatheredTools(
            tools=tuple(tools),
            servers=tuple(report.state for report in reports),
            notices=tuple(Notice(level="warning", text=text) for text in notices),
        )

    async def inspect(self, only: str | None = None) -> tuple[ServerReport, ...]:
        """Start all, or only one, and look at them. Nothing is pinned."""
        await self.close()
        wanted = [server for server in self._servers if only is None or server.name == only]
        self._connections += [McpConnection(server, self._place) for server in wanted]
        self._not_ready = {server.name for server in wanted}
        return tuple(await asyncio.gather(*map(self._inspect_one, self._connections)))

    async def close(self) -> None:
        connections, self._connections = self._connections, []
        await asyncio.gather(*(connection.close() for connection in connections))

    async def _inspect_one(self, connection: McpConnection) -> ServerReport:
        try:
            offered = await connection.open(self._limit_s)
            tools = offered[:MOST_TOOLS]
            pins = self.pins.of(connection.server)
        except ServerFailed as failure:
            return ServerReport(connection=connection, failure=str(failure))
        except ConfigError as problem:
            return ServerReport(connection=connection, tools=tools, unknown=str(problem))
        finally:
            self._not_ready.discard(connection.server.name)
        different = () if pins is None else changes(pins, tools)
        has_more = len(offered) > len(tools)
        return ServerReport(connection=connection, tools=tools, pins=pins, changes=different, has_more=has_more)

    def _waiting_notice(self) -> Notice:
        names = ", ".join(server.name for server in self._servers if server.name in self._not_ready)
        text = f"Waiting for MCP servers to start: {names}. Each has {self._limit_s:g} s."
        return Notice(level="warning", text=text)

    def _problem_with(self, report: ServerReport) -> str | None:
        name = report.server.name
        if report.failure is not None:
            return f"The MCP server {name} does not work: {report.failure}. Its tools are missing; all else goes on."
        if report.unknown is not None:
            return report.unknown
        if report.changes:
            return (
                f"The MCP server {name} changed its tools since you approved them: "
                f"{_named([change.after for change in report.changes])}. They are blocked. "
                f"Look at the changes with: robota mcp list. Accept them with: robota mcp approve {name}"
            )
        return None

    def _add_tools(self, report: ServerReport, names: set[str], tools: list[AnyTool]) -> list[str]:
        """Add the tools that are as a person has seen them, or are seen for the first time."""
        notices: list[str] = []
        server, changed = report.server, {change.after.name for change in report.changes}
        if report.has_more:
            notices.append(f"The MCP server {server.name} offers more than {MOST_TOOLS} tools; the rest are left out.")
        if report.pins is None:
            try:
                self.pins.pin(server, report.tools)
            except ConfigError as problem:
                return [f"{problem} Its tools are not used, because a later change would go unnoticed."]
            notices.append(
                f"The MCP server {server.name} is new here, with these tools: {_named(report.tools)}. "
                "They are noted as they are now; if one changes, it is blocked until you approve it."
            )
        for remote in report.tools:
            name = tool_name(server.name, remote.name)
            if remote.name in changed:
                continue
            if name in names:
                notices.append(_left_out(server, remote, f"there is a tool {name} already"))
                continue
            try:
                tools.append(mcp_tool(report.connection, remote))
                names.add(name)
            except UnusableTool as problem:
                notices.append(_left_out(server, remote, str(problem)))
        reader = resource_tool(report.connection) if report.connection.has_resources else None
        if reader is not None and reader.name not in names:
            tools.append(reader)
            names.add(reader.name)
        return notices


def _left_out(server: Server, tool: RemoteTool, why: str) -> str:
    return f"The tool {single_line(tool.name)} of the MCP server {server.name} was left out: {why}."


def _named(tools: Sequence[RemoteTool]) -> str:
    names = ", ".join(single_line(tool.name) for tool in tools[:MOST_NAMED]) or "none"
    return names + (f" and {len(tools) - MOST_NAMED} more" if len(tools) > MOST_NAMED else "")


def _start_limit_s(env: Mapping[str, str]) -> float:
    wanted = env.get(START_LIMIT_VARIABLE, "")
    return int(wanted) / 1000 if wanted.isdecimal() and int(wanted) > 0 else START_LIMIT_S
