"""Says what a reply cost, where the provider counts tokens but names no price."""

from collections.abc import AsyncIterator, Callable, Sequence

from robota.providers.catalogue import Price, cost
from robota.providers.chunks import Chunk, ModelRequest, UsageChunk
from robota.providers.definition import Provider


class Priced:
    """A provider whose replies carry their cost. The price is that of the model asked, so a fallback has its own."""

    def __init__(self, provider: Provider, price_of: Callable[[str], Price | None]) -> None:
        self._provider = provider
        self._price_of = price_of

    def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[Chunk]]:
        price = self._price_of(request.model)
        reply = self._provider.stream(request)
        return reply if price is None else _with_cost(reply, price)

    async def close(self) -> None:
        await self._provider.close()


async def _with_cost(reply: AsyncIterator[Sequence[Chunk]], price: Price) -> AsyncIterator[Sequence[Chunk]]:
    try:
        async for batch in reply:
            yield [_costed(chunk, price) for chunk in batch]
    finally:
        # Closing us must drop the request below at once, not when it is collected.
        close = getattr(reply, "aclose", None)
        if close is not None:
            await close()


def _costed(chunk: Chunk, price: Price) -> Chunk:
    if isinstance(chunk, UsageChunk) and chunk.cost is None:
        return UsageChunk(chunk.usage, cost(chunk.usage, price))
    return chunk
