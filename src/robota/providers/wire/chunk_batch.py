"""Gathers the chunks of one network read, joining neighbours of the same kind."""

from robota.providers.chunks import CallArgumentsChunk, Chunk, TextChunk, ThinkingChunk


class ChunkBatch:
    """A model writes a few letters at a time; whoever reads is better served by what arrived together."""

    def __init__(self) -> None:
        self._chunks: list[Chunk] = []
        self._texts: list[str] = []
        self._kind: type[TextChunk] | type[ThinkingChunk] = TextChunk
        self._arguments: list[str] = []
        self._call = 0

    def text(self, text: str) -> None:
        if self._arguments or self._kind is not TextChunk:
            self._flush()
            self._kind = TextChunk
        self._texts.append(text)

    def thinking(self, text: str) -> None:
        if self._arguments or self._kind is not ThinkingChunk:
            self._flush()
            self._kind = ThinkingChunk
        self._texts.append(text)

    def arguments(self, call: int, json: str) -> None:
        if self._texts or self._call != call:
            self._flush()
            self._call = call
        self._arguments.append(json)

    def add(self, chunk: Chunk) -> None:
        self._flush()
        self._chunks.append(chunk)

    def take(self) -> list[Chunk]:
        self._flush()
        chunks, self._chunks = self._chunks, []
        return chunks

    def _flush(self) -> None:
        if self._texts:
            text = "".join(self._texts)
            self._texts.clear()
            if text:
                self._chunks.append(self._kind(text))
        if self._arguments:
            self._chunks.append(CallArgumentsChunk(self._call, "".join(self._arguments)))
            self._arguments.clear()
