"""The MCP servers of a session: starts them concurrently, checks their tools against the pins, and stops them."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.config.errors import ConfigError
from robota.contracts.tool import AnyTool
from robota.extensions.mcp.connection import McpConnection, ServerEnvironment, server_program
from robota.extensions.mcp.definitions import Server, StdioServer
from robota.extensions.mcp.mcp_tool import mcp_tool
from robota.extensions.mcp.pinned_tools import PinnedTools, PinnedToolStore, ToolChange, changes
from robota.extensions.mcp.remote_tool import MAX_TOOLS, RemoteTool, UnusableTool, tool_name
from robota.extensions.mcp.resource_tool import resource_tool
from robota.extensions.mcp.server_failure import ServerFailed
from robota.extensions.mcp.sign_in_store import SignInStore
from robota.protocol.events import McpServerState, McpServerStatus, Notice
from robota.text.visible import single_line
from robota.workspace.outside_code.outside_code import OutsideCode
from robota.workspace.process.withheld_variables import NOTHING_NAMED, WithheldVariables

START_LIMIT_S: Final = 30.0
START_LIMIT_VARIABLE: Final = "MCP_TIMEOUT"  # milliseconds
SLOW_START_S: Final = 3.0  # after this the user is told what they wait for
MAX_NAMED: Final = 10


class ServerReport(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one server after its start.

    `failure` says why it does not work. `pins` is None if it is new in this workspace; if the pins cannot be read,
    `pin_problem` says why, and no tool of it is used. `has_more`: it offers more than `MAX_TOOLS` tools.
    """

    connection: McpConnection
    tools: tuple[RemoteTool, ...] = ()
    failure: str | None = None
    pins: PinnedTools | None = None
    changes: tuple[ToolChange, ...] = ()
    pin_problem: str | None = None
    has_more: bool = False

    @property
    def server(self) -> Server:
        return self.connection.server

    @property
    def is_usable(self) -> bool:
        return self.failure is None and self.pin_problem is None

    @property
    def state(self) -> McpServerState:
        """Its state for clients."""
        status = McpServerStatus.CONNECTED if self.is_usable else McpServerStatus.FAILED
        return McpServerState(name=self.server.name, status=status)


class GatheredTools(msgspec.Struct, frozen=True, kw_only=True):
    """The tools and states of all servers, and notices for the user."""

    tools: tuple[AnyTool, ...] = ()
    servers: tuple[McpServerState, ...] = ()
    notices: tuple[Notice, ...] = ()


class McpServers:
    """The servers of one session. `close` ends them all."""

    def __init__(
        self,
        servers: Sequence[Server],
        code: OutsideCode,
        cwd: Path,
        pins: PinnedToolStore,
        env: Mapping[str, str],
        withheld: WithheldVariables = NOTHING_NAMED,
    ) -> None:
        """`code` compares what servers run of the workspace; `withheld` are variables that they do not get."""
        roots = () if cwd == Path(cwd.anchor) else (cwd,)
        self._environment = ServerEnvironment(
            code=code, cwd=cwd, sign_ins=SignInStore(env), withheld=withheld, roots=roots
        )
        self.pins = pins
        for server in servers:
            if isinstance(server, StdioServer):
                code.add(server_program(server, cwd))
        self._servers = servers
        self._limit_s = _start_limit_s(env)
        self._connections: list[McpConnection] = []
        self._not_ready: set[str] = set()
        self.usable: tuple[McpConnection, ...] = ()  # those that work, after `gather`

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(server.name for server in self._servers)

    @property
    def pending(self) -> tuple[McpServerState, ...]:
        """The states of all servers before they start."""
        return tuple(McpServerState(name=name, status=McpServerStatus.PENDING) for name in self.names)

    async def gather(self, taken: Collection[str], notify: Callable[[Notice], None]) -> GatheredTools:
        """Start all servers and collect their tools, except those whose names are `taken`.

        `notify` is called if starting them takes long.
        """
        names, tools, notices = set(taken), list[AnyTool](), list[str]()
        late = asyncio.get_running_loop().call_later(SLOW_START_S, lambda: notify(self._waiting_notice()))
        try:
            reports = await self.inspect()
        finally:
            late.cancel()
        self.usable = tuple(report.connection for report in reports if report.is_usable)
        for report in reports:
            problem = _problem_with(report)
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
        """Start all servers, or only one, and report on them. Pins nothing."""
        await self.close()
        chosen = [server for server in self._servers if only is None or server.name == only]
        self._connections += [McpConnection(server, self._environment) for server in chosen]
        self._not_ready = {server.name for server in chosen}
        return tuple(await asyncio.gather(*map(self._inspect_one, self._connections)))

    async def close(self) -> None:
        connections, self._connections = self._connections, []
        await asyncio.gather(*(connection.close() for connection in connections))

    async def _inspect_one(self, connection: McpConnection) -> ServerReport:
        try:
            offered = await connection.open(self._limit_s)
            tools = offered[:MAX_TOOLS]
            pins = self.pins.load(connection.server)
        except ServerFailed as failure:
            return ServerReport(connection=connection, failure=failure.for_user)
        except ConfigError as problem:
            return ServerReport(connection=connection, tools=tools, pin_problem=str(problem))
        finally:
            self._not_ready.discard(connection.server.name)
        different = () if pins is None else changes(pins, tools)
        has_more = len(offered) > len(tools)
        return ServerReport(connection=connection, tools=tools, pins=pins, changes=different, has_more=has_more)

    def _waiting_notice(self) -> Notice:
        names = ", ".join(server.name for server in self._servers if server.name in self._not_ready)
        text = f"Waiting for MCP servers to start: {names}. Each has {self._limit_s:g} s."
        return Notice(level="warning", text=text)

    def _add_tools(self, report: ServerReport, names: set[str], tools: list[AnyTool]) -> list[str]:
        """Add the tools that match their pins, or pin those of a new server; returns notices."""
        notices: list[str] = []
        server, changed = report.server, {change.after.name for change in report.changes}
        if report.has_more:
            notices.append(f"The MCP server {server.name} offers more than {MAX_TOOLS} tools; the rest are ignored.")
        if report.pins is None:
            try:
                self.pins.pin(server, report.tools)
            except ConfigError as problem:
                return [f"{problem} Its tools are not used, because a later change would go unnoticed."]
            notices.append(
                f"The MCP server {server.name} is new here, with these tools: {_named(report.tools)}. "
                "Their current state is saved; if one changes, it is blocked until you approve it."
            )
        for remote in report.tools:
            name = tool_name(server.name, remote.name)
            if remote.name in changed:
                continue
            if name in names:
                notices.append(_left_out(server, remote, f"there is already a tool {name}"))
                continue
            try:
                tools.append(mcp_tool(report.connection.server.name, report.connection.call, remote))
                names.add(name)
            except UnusableTool as problem:
                notices.append(_left_out(server, remote, str(problem)))
        reader = resource_tool(report.connection) if report.connection.has_resources else None
        if reader is not None and reader.name not in names:
            tools.append(reader)
            names.add(reader.name)
        return notices


def _problem_with(report: ServerReport) -> str | None:
    name = report.server.name
    if report.failure is not None:
        return f"The MCP server {name} does not work: {report.failure}. Its tools are missing; everything else works."
    if report.pin_problem is not None:
        return report.pin_problem
    if report.changes:
        return (
            f"The MCP server {name} changed its tools since you approved them: "
            f"{_named([change.after for change in report.changes])}. They are blocked. To review the changes: robota "
            f"mcp list. To accept them: robota mcp approve {name}"
        )
    return None


def _left_out(server: Server, tool: RemoteTool, why: str) -> str:
    return f"The tool {single_line(tool.name)} of the MCP server {server.name} was ignored: {why}."


def _named(tools: Sequence[RemoteTool]) -> str:
    names = ", ".join(single_line(tool.name) for tool in tools[:MAX_NAMED]) or "none"
    return names + (f" and {len(tools) - MAX_NAMED} more" if len(tools) > MAX_NAMED else "")


def _start_limit_s(env: Mapping[str, str]) -> float:
    milliseconds = env.get(START_LIMIT_VARIABLE, "")
    return int(milliseconds) / 1000 if milliseconds.isdecimal() and int(milliseconds) > 0 else START_LIMIT_S
