"""A model that returns the replies of a recording."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence

import msgspec

from robota.proof.replay.comparison import Divergence, difference
from robota.proof.replay.recording import RecordedReply
from robota.protocol.conversation import TextBlock, ThinkingBlock, ToolUseBlock
from robota.providers.chunks import (
    CallArgumentsChunk,
    CallStartChunk,
    Chunk,
    FinishChunk,
    ModelRequest,
    Provider,
    TextChunk,
    ThinkingChunk,
    UsageChunk,
)
from robota.providers.fault import FaultKind, ProviderFault

NOTHING_LEFT = "The recording has ended; this request was not in it."


class RecordedModel:
    """Returns the replies of a recording in order. `on_request` gets the number of each reply, and the reply, first."""

    def __init__(
        self, replies: Sequence[RecordedReply], on_request: Callable[[int, RecordedReply], Awaitable[None]]
    ) -> None:
        self._replies = replies
        self._on_request = on_request
        self.replies_given = 0

    @property
    def next_reply(self) -> RecordedReply | None:
        """The reply to the next request; None at the end."""
        return self._replies[self.replies_given] if self.replies_given < len(self._replies) else None

    async def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[Chunk]]:
        if self.replies_given >= len(self._replies):
            raise ProviderFault(FaultKind.SCRIPT, NOTHING_LEFT)
        reply = self._replies[self.replies_given]
        self.replies_given += 1
        await self._on_request(self.replies_given - 1, reply)
        if reply.fault is not None:
            kind = FaultKind.CONTEXT_TOO_LONG if reply.fault.is_too_long else FaultKind.SCRIPT
            raise ProviderFault(kind, reply.fault.message)
        yield list(_chunks(reply))

    async def close(self) -> None:
        """Nothing to close."""


class ComparedModel:
    """Sends each request to a live model as well, and compares its calls with the recorded ones.

    The conversation continues as recorded until the calls differ; then it ends.
    """

    def __init__(self, live: Provider, recorded: RecordedModel, model: str) -> None:
        self._live = live
        self._recorded = recorded
        self._model = model
        self.found: Divergence | None = None
        self.fault: ProviderFault | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[Chunk]]:
        number, expected = self._recorded.replies_given + 1, self._recorded.next_reply
        if expected is not None:
            self.fault = None
            try:
                decided = await self._decided(msgspec.structs.replace(request, model=self._model))
            except ProviderFault as fault:
                self.fault = fault
                raise
            expected_calls = _calls_of(_chunks(expected))
            if decided != expected_calls:
                self.found = difference("reply", f"the calls of reply {number}", expected_calls, decided, number)
                raise ProviderFault(FaultKind.SCRIPT, f"{self._model} decides otherwise.")
        async for batch in self._recorded.stream(request):
            yield batch

    async def close(self) -> None:
        """Close the connection to the live model."""
        await self._live.close()

    async def _decided(self, request: ModelRequest) -> str:
        chunks = [chunk async for batch in self._live.stream(request) for chunk in batch]
        return _calls_of(chunks)


def _calls_of(chunks: Iterable[Chunk]) -> str:
    """The calls of a reply as one text."""
    names: dict[int, str] = {}
    arguments: dict[int, str] = {}
    for chunk in chunks:
        if isinstance(chunk, CallStartChunk):
            names[chunk.index], arguments[chunk.index] = chunk.name, ""
        elif isinstance(chunk, CallArgumentsChunk):
            arguments[chunk.index] = arguments.get(chunk.index, "") + chunk.json
    return "\n".join(f"{name} {_sorted(arguments[index])}" for index, name in names.items()) or "(no calls)"


def _sorted(text: str) -> str:
    try:
        return msgspec.json.encode(msgspec.json.decode(text or "{}"), order="sorted").decode()
    except msgspec.DecodeError:
        return text


def _chunks(reply: RecordedReply) -> Iterator[Chunk]:
    for index, block in enumerate(reply.turn.content):
        match block:
            case TextBlock():
                yield TextChunk(block.text)
            case ThinkingBlock():
                yield ThinkingChunk(block.thinking, block.signature)
            case ToolUseBlock():
                yield CallStartChunk(index, block.id, block.name)
                yield CallArgumentsChunk(index, msgspec.json.encode(block.input).decode())
    yield UsageChunk(reply.turn.usage, reply.cost)
    yield FinishChunk(reply.turn.stop_reason or "end_turn")
