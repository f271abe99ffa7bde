"""Two tools that replace many MCP tools: one searches for them, one calls them by name.

For servers whose tool definitions would fill too much of the context window. The tool list of a request does not
change when tools are found, so that the prompt cache of the provider hits.
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

CHARACTERS_PER_TOKEN: Final = 4
SHARE_OF_WINDOW: Final = 10  # a tenth
MAX_FOUND: Final = 10
MAX_NAMES_LENGTH: Final = 4000  # characters
SEARCH: Final = "search_mcp_tools"
CALL: Final = "use_mcp_tool"


class SearchParams(msgspec.Struct, frozen=True, kw_only=True):
    query: Annotated[str, msgspec.Meta(description="Words that describe what the tool should do, or its name.")]


class CallParams(msgspec.Struct, frozen=True, kw_only=True):
    tool: Annotated[str, msgspec.Meta(description="The whole name of the tool, such as mcp__server__tool.")]
    arguments: Annotated[dict[str, Any], msgspec.Meta(description="Its arguments, according to its schema.")] = {}


def estimated_tokens(specs: Sequence[ToolSpec]) -> int:
    """The estimated number of tokens of tool definitions."""
    characters = sum(len(spec.description) + len(msgspec.json.encode(spec.schema)) for spec in specs)
    return characters // CHARACTERS_PER_TOKEN


def exceed_share_of_window(specs: Sequence[ToolSpec], context_window: int) -> bool:
    """Whether tool definitions would take more than a tenth of the context window."""
    return estimated_tokens(specs) * SHARE_OF_WINDOW > context_window


def deferring_tools(specs: Sequence[ToolSpec]) -> tuple[AnyTool, ...]:
    """The search tool and the call tool for these definitions."""
    return _search_tool(tuple(specs)), _call_tool()


def _search_tool(specs: tuple[ToolSpec, ...]) -> AnyTool:
    names = ", ".join(spec.name for spec in specs)
    shown = names if len(names) <= MAX_NAMES_LENGTH else f"{names[:MAX_NAMES_LENGTH]} …"
    description = (
        f"Find tools of MCP servers. There are {len(specs)}, too many to describe here. Returns the descriptions and "
        f"schemas of those that match; call one with {CALL}. Their names: {shown}"
    )

    async def prepare(params: SearchParams, context: ToolContext) -> Prepared:
        async def run() -> ToolResult:
            return ToolResult(content=found_text(search_tools(specs, params.query)))

        request = {"tool": SEARCH, "query": params.query}
        return Prepared(preview=Preview(ask="tool", text=msgspec.json.encode(request).decode()), run=run)

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


def search_tools(specs: Sequence[ToolSpec], query: str) -> tuple[ToolSpec, ...]:
    """The best matches by the words of the query; a word in the name counts more than in the description."""
    words = query.casefold().replace("_", " ").split()

    def score(spec: ToolSpec) -> int:
        name, text = spec.name.casefold(), spec.description.casefold()
        if spec.name == query.strip():
            return 1000
        return sum(3 * (word in name) + (word in text) for word in words)

    ranked = sorted((spec for spec in specs if score(spec)), key=score, reverse=True)
    return tuple(ranked)


def found_text(specs: Sequence[ToolSpec]) -> str:
    """The best of these tools with their schemas, and the names of the others."""
    if not specs:
        return "No tool matches. Try other words."
    parts = [
        f"## {spec.name}\n{spec.description}\nSchema of its arguments: {msgspec.json.encode(spec.schema).decode()}"
        for spec in specs[:MAX_FOUND]
    ]
    if others := specs[MAX_FOUND:]:
        names = ", ".join(spec.name for spec in others)
        parts.append(f"[{len(others)} more match. Search for one by its name to see its schema: {names}]")
    return "\n\n".join(parts)


def _call_tool() -> AnyTool:
    async def prepare(params: CallParams, context: ToolContext) -> Prepared:
        raise ToolError(f"Nothing was called. Give the name of a tool that {SEARCH} found.")

    return Tool(
        name=CALL,
        label=CALL,
        group=ToolGroup.MCP,
        params=CallParams,
        description=lambda: f"Call a tool of an MCP server that {SEARCH} found.",
        effects=frozenset({Effect.WRITE, Effect.NETWORK}),
        touches=lambda params: Touches(),
        prepare=prepare,
        redirect=lambda params: RedirectedCall(name=params.tool, input=params.arguments),
    )
