"""The cost of replies: prices per token, and a provider wrapper that adds costs to replies."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

import msgspec

from robota.protocol.conversation import Usage
from robota.providers.chunks import Chunk, FinishChunk, ModelRequest, Provider, UsageChunk

MILLION: Final = 1_000_000
# Cache writes for an hour cost this many times as much as plain input; `cache_write` is for five minutes.
HOUR_WRITE_FACTOR: Final = 2


class Price(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """US dollars per million tokens. A missing cache price defaults to the input price."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


FREE: Final = Price(input=0, output=0)


def cost(usage: Usage, price: Price | None, hour_writes: int = 0) -> float | None:
    """The cost of these tokens in US dollars, `hour_writes` of them cached for an hour; None if it is unknown."""
    if price is None:
        return None
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    total = (
        usage.input_tokens * price.input
        + usage.output_tokens * price.output
        + usage.cache_read_input_tokens * read
        + usage.cache_creation_input_tokens * write
        + hour_writes * (HOUR_WRITE_FACTOR * price.input - write)
    )
    return total / MILLION


class PricedProvider:
    """Adds costs to the replies of a provider that counts tokens but reports no cost.

    The price of the requested model applies, and is looked up once per model.
    """

    def __init__(self, provider: Provider, price_of: Callable[[str], Price | None]) -> None:
        self._provider = provider
        self._price_of = price_of
        self._prices: dict[str, Price | None] = {}

    def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[Chunk]]:
        """The reply of the provider, with costs where a price is known."""
        if request.model not in self._prices:
            self._prices[request.model] = self._price_of(request.model)
        price = self._prices[request.model]
        reply = self._provider.stream(request)
        return reply if price is None else _with_cost(reply, price)

    async def close(self) -> None:
        """Close the provider."""
        await self._provider.close()


async def _with_cost(reply: AsyncIterator[Sequence[Chunk]], price: Price) -> AsyncIterator[Sequence[Chunk]]:
    # A free model costs nothing, even if its server does not count tokens.
    has_usage = price != FREE
    try:
        async for batch in reply:
            has_usage = has_usage or any(isinstance(chunk, UsageChunk) for chunk in batch)
            is_last = any(isinstance(chunk, FinishChunk) for chunk in batch)
            nothing = [UsageChunk(Usage(), 0.0)] if is_last and not has_usage else []
            yield [*nothing, *(costed(chunk, price) for chunk in batch)]
    finally:
        # Closing this generator must cancel the request at once, not when it is collected.
        close = getattr(reply, "aclose", None)
        if close is not None:
            await close()


def costed(chunk: Chunk, price: Price) -> Chunk:
    """A usage chunk with its cost and what the cache saved; any other chunk unchanged."""
    if isinstance(chunk, UsageChunk) and chunk.cost is None:
        paid = cost(chunk.usage, price, chunk.hour_writes)
        return UsageChunk(chunk.usage, paid, saved=_without_cache(chunk.usage, price) - (paid or 0.0))
    return chunk


def _without_cache(usage: Usage, price: Price) -> float:
    """What the same tokens would have cost if none of them had been read from or written to a cache."""
    return (usage.total_in * price.input + usage.output_tokens * price.output) / MILLION
