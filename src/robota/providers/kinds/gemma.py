"""The provider type `gemma`: Gemma models on a server that leaves their channels and calls in the text."""

from collections.abc import AsyncIterator, Sequence
from typing import Final, assert_never

import msgspec

from robota.config.profiles.profile import Profile
from robota.providers.chunks import (
    CallArgumentsChunk,
    CallStartChunk,
    Chunk,
    FinishChunk,
    ModelRequest,
    TextChunk,
    ThinkingChunk,
    UsageChunk,
)
from robota.providers.kinds.compatible import LMSTUDIO
from robota.providers.kinds.openai_compatible import chat_client
from robota.providers.wire.gemma.call import GemmaCall
from robota.providers.wire.gemma.text import GemmaAnswer, GemmaParser, GemmaPiece, GemmaThought
from robota.providers.wire.reply import ChunkBatch

# Calls that the server itself understood count from 0.
FIRST_CALL_IN_TEXT: Final = 1_000


class Gemma:
    """The Chat Completions client, with thoughts and calls taken out of the text of its replies."""

    def __init__(self, profile: Profile) -> None:
        self._server = chat_client(profile)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[Chunk]]:
        """The reply of the server, its text taken apart."""
        projection = GemmaProjection({tool.name for tool in request.tools})
        reply = self._server.stream(request)
        try:
            async for batch in reply:
                chunks = projection.project(batch)
                if chunks:
                    yield chunks
        finally:
            await reply.aclose()

    async def close(self) -> None:
        """Close the client."""
        await self._server.close()


class GemmaProjection:
    """Converts the chunks of one reply to the form that other models produce."""

    def __init__(self, offered: set[str]) -> None:
        self._text = GemmaParser(offered)
        self._calls = 0

    def project(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """The converted chunks."""
        batch = ChunkBatch()
        for chunk in chunks:
            match chunk:
                case TextChunk():
                    self._add(self._text.feed(chunk.text), batch)
                case FinishChunk():
                    self._add(self._text.finish(), batch)
                    batch.add(self._finish(chunk))
                case ThinkingChunk() | CallStartChunk() | CallArgumentsChunk() | UsageChunk():
                    batch.add(chunk)
                case _:
                    assert_never(chunk)
        return batch.take()

    def _add(self, pieces: Sequence[GemmaPiece], batch: ChunkBatch) -> None:
        for piece in pieces:
            match piece:
                case GemmaCall():
                    index = FIRST_CALL_IN_TEXT + self._calls
                    self._calls += 1
                    batch.add(CallStartChunk(index, "", piece.name))
                    batch.arguments(index, msgspec.json.encode(piece.arguments).decode())
                case GemmaAnswer():
                    batch.text(piece.text)
                case GemmaThought():
                    batch.thinking(piece.text)
                case _:
                    assert_never(piece)

    def _finish(self, chunk: FinishChunk) -> FinishChunk:
        return FinishChunk("tool_use") if self._calls and chunk.reason == "end_turn" else chunk


# Its server is detected under the server's own type, so it has no local address here.
DEFINITION = msgspec.structs.replace(
    LMSTUDIO,
    type="gemma",
    display_name="Gemma",
    description="Gemma models in LM Studio or the like: separates thoughts, and runs calls in the text.",
    create_provider=Gemma,
    local_address=None,
)
