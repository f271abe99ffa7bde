"""The tools of a session: the built-in ones, and those of MCP servers once these have started."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from robota.contracts.tool import AnyTool
from robota.protocol.events import McpServerState, Notice
from robota.providers.chunks import ToolSpec
from robota.tools.registry import builtin_tools, by_name, schema_of

if TYPE_CHECKING:
    from robota.extensions.mcp.servers import McpServers


def session_tools(
    servers: "McpServers | None",
    more: Sequence[AnyTool] = (),
    changed: Callable[[Sequence[AnyTool]], Sequence[AnyTool]] = lambda tools: tools,
    *,
    has_skills: bool = False,
    has_memory: bool = False,
) -> "SessionTools":
    """The built-in tools, those for skills and memory where there are any, and `more`; `servers` bring others later.

    `changed` gives these tools as the session needs them.
    """
    tools = list(builtin_tools())
    if has_skills:
        from robota.tools.task import skill

        tools.append(skill.TOOL)
    if has_memory:
        from robota.tools.task import remember

        tools.append(remember.TOOL)
    return SessionTools(changed((*tools, *more)), servers)


class SessionTools:
    """A `ToolService` whose tools grow once, before the first task."""

    def __init__(self, tools: Sequence[AnyTool], servers: "McpServers | None" = None) -> None:
        self.all: Sequence[AnyTool] = tools
        self.specs: Sequence[ToolSpec] = _specs(tools)
        self.servers: Sequence[McpServerState] = () if servers is None else servers.pending
        self._servers = servers

    @property
    def is_complete(self) -> bool:
        return self._servers is None

    async def gather(self, context_window: int, tell: Callable[[Notice], None]) -> Sequence[Notice]:
        if self._servers is None:
            return ()
        gathered = await self._servers.gather(by_name(self.all), tell)
        described, notices = _described(gathered.tools, context_window)
        self.all = (*self.all, *gathered.tools, *(tool for tool in described if tool not in gathered.tools))
        self.specs = (*self.specs, *_specs(described))
        self.servers = gathered.servers
        self._servers = None
        return (*gathered.notices, *notices)


def _described(tools: Sequence[AnyTool], context_window: int) -> tuple[Sequence[AnyTool], tuple[Notice, ...]]:
    """The tools that the model is told of: all of these, or those that find them."""
    from robota.extensions.mcp.deferred_tools import deferring_tools, fill_too_much, tokens_of

    specs = _specs(tools)
    if not fill_too_much(specs, context_window):
        return tools, ()
    told = (
        f"The {len(specs)} tools of the MCP servers would take about {tokens_of(specs):,} tokens of the context "
        "window, more than a tenth of it. The model searches for them instead of being told of each."
    )
    return deferring_tools(specs), (Notice(level="info", text=told),)


def _specs(tools: Sequence[AnyTool]) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(name=tool.name, description=tool.description(), schema=schema_of(tool)) for tool in tools)
