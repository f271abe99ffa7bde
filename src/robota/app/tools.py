"""Builds the tools of a session: built-in ones, and those of MCP servers once they have started."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from robota.contracts.tool import AnyTool, ToolRole
from robota.protocol.events import McpServerState, Notice
from robota.providers.chunks import ToolSpec
from robota.tools.registry import BUILT_IN_IDS, builtin_tools, by_name, schema_of

if TYPE_CHECKING:
    from robota.extensions.mcp.servers import McpServers


def session_tools(
    servers: "McpServers | None",
    more: Sequence[AnyTool] = (),
    adapt: Callable[[Sequence[AnyTool]], Sequence[AnyTool]] = lambda tools: tools,
    *,
    has_skills: bool = False,
    has_memory: bool = False,
    has_sandbox: bool = True,
    only: Sequence[str] | None = None,
) -> "SessionTools":
    """The built-in tools, those for skills and memory if needed, and `more`; those of `servers` are added later.

    `adapt` adapts these tools to the session. With `only`, no other built-in tools are offered.
    """
    added = _added(has_skills=has_skills, has_memory=has_memory)
    if only is not None:
        built_in = _named(only, (*builtin_tools(), *added))
        names = tuple(tool.name for tool in (*built_in, *more))
        return SessionTools(names, lambda: adapt((*built_in, *more)), servers, has_sandbox=has_sandbox)
    names = (*BUILT_IN_IDS, *(tool.name for tool in (*added, *more)))
    return SessionTools(names, lambda: adapt((*builtin_tools(), *added, *more)), servers, has_sandbox=has_sandbox)


def _added(*, has_skills: bool, has_memory: bool) -> list[AnyTool]:
    added: list[AnyTool] = []
    if has_skills:
        from robota.tools.task import skill

        added.append(skill.TOOL)
    if has_memory:
        from robota.tools.task import remember

        added.append(remember.TOOL)
    return added


def _named(names: Sequence[str], tools: Sequence[AnyTool]) -> tuple[AnyTool, ...]:
    """The tools with these names, which may be those of Claude Code, and what the results of these need."""
    wanted = {name.strip().lower() for name in names}
    named = [tool for tool in tools if not wanted.isdisjoint(each.lower() for each in tool.every_name)]
    readers = [tool for tool in tools if named and tool.role is ToolRole.OUTPUT_READER and tool not in named]
    return (*named, *readers)


class SessionTools:
    """A `ToolService` whose tools are loaded with the first task; those of MCP servers are added before it starts."""

    def __init__(
        self,
        names: Sequence[str],
        load: Callable[[], Sequence[AnyTool]],
        servers: "McpServers | None" = None,
        *,
        has_sandbox: bool = True,
    ) -> None:
        """`names` are the ids of the tools that `load` returns."""
        self._has_sandbox = has_sandbox
        self.is_forbidden: Callable[[AnyTool], bool] = lambda tool: False  # if so, the model is not told of it
        self.names = names
        self._load = load
        self.servers: Sequence[McpServerState] = () if servers is None else servers.pending
        self._servers = servers

    @cached_property
    def all(self) -> Sequence[AnyTool]:
        return self._load()

    @cached_property
    def specs(self) -> Sequence[ToolSpec]:
        return self._described(self.all)

    @property
    def is_complete(self) -> bool:
        return self._servers is None

    async def gather(self, context_window: int, notify: Callable[[Notice], None]) -> Sequence[Notice]:
        if self._servers is None:
            return ()
        gathered = await self._servers.gather(by_name(self.all), notify)
        described, notices = _tools_to_describe(gathered.tools, context_window)
        specs = (*self.specs, *self._described(described))
        self.all = (*self.all, *gathered.tools, *(tool for tool in described if tool not in gathered.tools))
        self.specs = specs
        self.names = tuple(tool.name for tool in self.all)
        self.servers = gathered.servers
        self._servers = None
        return (*gathered.notices, *notices)

    def _described(self, tools: Sequence[AnyTool]) -> tuple[ToolSpec, ...]:
        """The tools as the model gets them, without those that are forbidden, nor what others say of missing ones."""
        # Imported with the first prompt, which needs it, too.
        from robota.contracts.mentioned_tools import without_lines_about

        usable = [tool for tool in tools if not self.is_forbidden(tool)]
        lacking = set(BUILT_IN_IDS).difference(tool.name for tool in self.all)
        return tuple(
            msgspec.structs.replace(spec, description=without_lines_about(lacking, spec.description))
            for spec in _specs(usable, has_sandbox=self._has_sandbox)
        )


def _tools_to_describe(tools: Sequence[AnyTool], context_window: int) -> tuple[Sequence[AnyTool], tuple[Notice, ...]]:
    """The tools to describe to the model: all of these, or the two that search and call them. Also a notice."""
    from robota.extensions.mcp.deferred_tools import deferring_tools, estimated_tokens, exceed_share_of_window

    specs = _specs(tools)
    if not exceed_share_of_window(specs, context_window):
        return tools, ()
    message = (
        f"The {len(specs)} tools of the MCP servers would take about {estimated_tokens(specs):,} tokens of the context "
        "window, more than a tenth of it. The model searches for them instead of being given all of them."
    )
    return deferring_tools(specs), (Notice(level="info", text=message),)


def _specs(tools: Sequence[AnyTool], *, has_sandbox: bool = True) -> tuple[ToolSpec, ...]:
    return tuple(
        ToolSpec(
            name=tool.name,
            description=tool.description(),
            schema=schema_of(tool) if has_sandbox else _without(schema_of(tool), tool.sandbox_parameters),
        )
        for tool in tools
    )


def _without(schema: dict[str, Any], parameters: Sequence[str]) -> dict[str, Any]:
    if not parameters:
        return schema
    kept = {name: shape for name, shape in schema["properties"].items() if name not in parameters}
    return {**schema, "properties": kept}
