"""Tools of servers that would fill too much of the window: the model searches for them and calls them by name.

The list of tools in a request stays the same from turn to turn, so that a provider can keep it in its cache.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec

from robota.contracts.tool import (
    AnyTool,
    Effect,
    Prepared,
    Preview,
    RedirectedCall,
    Tool,
    ToolContext,
    ToolError,
    ToolGroup,
    ToolResult,
    Touches,
)
from robota.providers.chunks import ToolSpec

CHARACTERS_OF_TOKEN: Final = 4
SHARE_OF_WINDOW: Final = 10  # one part of so many
MOST_FOUND: Final = 10
NAMES_TOLD: Final = 4000  # characters
SEARCH: Final = "search_mcp_tools"
CALL: Final = "use_mcp_tool"


class SearchParams(msgspec.Struct, frozen=True, kw_only=True):
    query: Annotated[str, msgspec.Meta(description="Words of what the tool should do, or its name.")]


class CallParams(msgspec.Struct, frozen=True, kw_only=True):
    tool: Annotated[str, msgspec.Meta(description="The whole name of the tool, such as mcp__server__tool.")]
    arguments: Annotated[dict[str, Any], msgspec.Meta(description="Its arguments, as its schema says.")] = {}


def tokens_of(specs: Sequence[ToolSpec]) -> int:
    """About how many tokens the descriptions of tools take."""
    characters = sum(len(spec.description) + len(msgspec.json.encode(spec.schema)) for spec in specs)
    return characters // CHARACTERS_OF_TOKEN


def fill_too_much(specs: Sequence[ToolSpec], context_window: int) -> bool:
    """Whether the descriptions would take more than a tenth of the window."""
    return tokens_of(specs) * SHARE_OF_WINDOW > context_window


def deferring_tools(specs: Sequence[ToolSpec]) -> tuple[AnyTool, ...]:
    """The two tools that stand for all of these: one that finds them, one that calls them."""
    return _search_tool(tuple(specs)), _call_tool()


def _search_tool(specs: tuple[ToolSpec, ...]) -> AnyTool:
    names = ", ".join(spec.name for spec in specs)
    shown = names if len(names) <= NAMES_TOLD else f"{names[:NAMES_TOLD]} …"
    description = (
        f"Finds tools of MCP servers. There are {len(specs)}, too many to be described here. It gives the description "
        f"and the schema of those that fit; call one with {CALL}. Their names: {shown}"
    )

    async def prepare(params: SearchParams, context: ToolContext) -> Prepared:
        async def run() -> ToolResult:
            return ToolResult(content=_told(found_tools(specs, params.query)))

        asked = {"tool": SEARCH, "query": params.query}
        return Prepared(preview=Preview(ask="tool", text=msgspec.json.encode(asked).decode()), run=run)

    return Tool(
        name=SEARCH,
        label="SearchTools",
        group=ToolGroup.MCP,
        params=SearchParams,
        description=lambda: description,
        effects=frozenset({Effect.TALK}),
        touches=lambda params: Touches(),
        prepare=prepare,
    )


def found_tools(specs: Sequence[ToolSpec], query: str) -> tuple[ToolSpec, ...]:
    """The tools that fit best: those that most words of the query occur in, a word in the name counting more."""
    words = query.casefold().replace("_", " ").split()

    def fit(spec: ToolSpec) -> int:
        name, text = spec.name.casefold(), spec.description.casefold()
        if spec.name == query.strip():
            return 1000
        return sum(3 * (word in name) + (word in text) for word in words)

    ranked = sorted((spec for spec in specs if fit(spec)), key=fit, reverse=True)
    return tuple(ranked[:MOST_FOUND])


def _told(found: Sequence[ToolSpec]) -> str:
    if not found:
        return "No tool fits. Try other words."
    parts = (
        f"## {spec.name}\n{spec.description}\nSchema of its arguments: {msgspec.json.encode(spec.schema).decode()}"
        for spec in found
    )
    return "\n\n".join(parts)


def _call_tool() -> AnyTool:
    async def prepare(params: CallParams, context: ToolContext) -> Prepared:
        raise ToolError(f"{CALL} needs the name of another tool.")

    return Tool(
        name=CALL,
        label=CALL,
        group=ToolGroup.MCP,
        params=CallParams,
        description=lambda: f"Calls a tool of an MCP server that {SEARCH} found.",
        effects=frozenset({Effect.WRITE, Effect.NETWORK}),
        touches=lambda params: Touches(),
        prepare=prepare,
        redirect=lambda params: RedirectedCall(name=params.tool, input=params.arguments),
    )
