"""The interface of every provider: a request goes in, one stream of typed chunks comes out."""

from collections.abc import AsyncIterator, Sequence
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from robota.protocol.conversation import Turn, Usage


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as it is sent to a model."""

    name: str
    description: str
    schema: dict[str, Any]

    @property
    def characters(self) -> int:
        """Its length in a request."""
        return len(self.description) + len(msgspec.json.encode(self.schema))


class EditFormat(StrEnum):
    """How a model was trained to change files. It is offered one tool for that, because a choice costs mistakes."""

    REPLACE = "replace"  # a text that occurs once, and the text that replaces it
    PATCH = "patch"  # a patch of several files, in the format of Codex
    DIFF = "diff"  # search and replace blocks; no family is known to need it


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a model.

    `turns` is the whole conversation; turns are immutable and the same objects come back in the next
    request, so that a wire format can encode each of them once. `tools` is empty for a model whose tools are
    described in the system prompt. `cache_key` is the same for all requests that are likely to begin alike.
    """

    model: str
    system: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None
    cache_key: str | None = None


class TextChunk(msgspec.Struct, frozen=True):
    """More text of the answer."""

    text: str


class ThinkingChunk(msgspec.Struct, frozen=True):
    """More reasoning. A `signature` is for the whole reasoning block, and replaces an earlier one."""

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
    """Tokens so far; a later chunk replaces an earlier one. `cost` is in US dollars, if the provider reports it.

    `hour_writes` are the cached tokens that the server keeps for an hour, which cost more. `saved` is how much more it
    would have cost without a cache; None if the price is unknown.
    """

    usage: Usage
    cost: float | None = None
    hour_writes: int = 0
    saved: float | None = None


class FinishChunk(msgspec.Struct, frozen=True):
    """The reply is complete. Reasons: end_turn, tool_use, max_tokens, content_filter, or the provider's own."""

    reason: str


Chunk = TextChunk | ThinkingChunk | CallStartChunk | CallArgumentsChunk | UsageChunk | FinishChunk


class Provider(Protocol):
    """A source of replies. One instance serves a whole session. Its connection opens with the first request."""

    def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[Chunk]]:
        """The reply, in batches per network read. Ends after a `FinishChunk`, or raises `ProviderFault`.

        Closing the iterator (`aclose`) cancels the request.
        """
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...
