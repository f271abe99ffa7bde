"""The one stream of typed chunks that comes out of every provider, and the request that goes in."""

from typing import Any

import msgspec

from robota.protocol.conversation import Turn, Usage


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as a model is told of it."""

    name: str
    description: str
    schema: dict[str, Any]


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a model.

    `turns` is the whole conversation; turns are immutable and the same objects come back in the next
    request, so that a wire format can encode each of them once. `tools` is empty for a model that is told of
    its tools in the system prompt.
    """

    model: str
    system: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None


class TextChunk(msgspec.Struct, frozen=True):
    text: str


class ThinkingChunk(msgspec.Struct, frozen=True):
    """More reasoning. A `signature` seals the whole stretch of reasoning it comes in, in place of an earlier one."""

    text: str
    signature: str | None = None


class CallStartChunk(msgspec.Struct, frozen=True):
    """A tool call begins. `index` ties its pieces together within the reply; `id` may be empty."""

    index: int
    id: str
    name: str


class CallArgumentsChunk(msgspec.Struct, frozen=True):
    """More of the JSON text of a call's arguments."""

    index: int
    json: str


class UsageChunk(msgspec.Struct, frozen=True):
    """Tokens so far; a later one replaces an earlier one. `cost` is in US dollars, if known."""

    usage: Usage
    cost: float | None = None


class FinishChunk(msgspec.Struct, frozen=True):
    """The reply is complete. Reasons: end_turn, tool_use, max_tokens, content_filter, or the provider's own."""

    reason: str


Chunk = TextChunk | ThinkingChunk | CallStartChunk | CallArgumentsChunk | UsageChunk | FinishChunk
