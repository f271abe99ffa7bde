"""Recorded shapes of vendors' replies (see `shapes/`), and short ways to read them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st

from robota.providers.chunks import CallArgumentsChunk, Chunk, TextChunk, ThinkingChunk, UsageChunk
from robota.providers.fault import ProviderFault
from robota.providers.wire.reply import WireReply

SHAPES = Path(__file__).with_name("shapes")

NewReply = Callable[[], WireReply[Any]]


class ShapeResult(msgspec.Struct, frozen=True):
    """What came out of a reply: chunks, and the fault it ended in, if any."""

    chunks: list[Chunk]
    fault: ProviderFault | None


def shape(name: str) -> bytes:
    return (SHAPES / f"{name}.sse").read_bytes()


def event(data: Any) -> bytes:
    return b"data: " + msgspec.json.encode(data) + b"\n\n"


def read(new_reply: NewReply, *reads: bytes) -> ShapeResult:
    """The chunks of a reply that arrived in these pieces, neighbours of a kind joined."""
    reply = new_reply()
    chunks = [chunk for data in reads for chunk in reply.feed(data)]
    if not reply.complete and reply.fault is None:
        chunks += reply.finish()
    return ShapeResult(joined(chunks), reply.fault)


def joined(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The same chunks, however the network cut them: joined, and of the usage only the last word."""
    whole: list[Chunk] = []
    usage = [chunk for chunk in chunks if isinstance(chunk, UsageChunk)][-1:]
    for chunk in chunks:
        last = whole[-1] if whole else None
        if isinstance(chunk, TextChunk) and isinstance(last, TextChunk):
            whole[-1] = TextChunk(last.text + chunk.text)
        elif isinstance(chunk, ThinkingChunk) and isinstance(last, ThinkingChunk):
            whole[-1] = ThinkingChunk(last.text + chunk.text, chunk.signature or last.signature)
        elif (
            isinstance(chunk, CallArgumentsChunk) and isinstance(last, CallArgumentsChunk) and last.index == chunk.index
        ):
            whole[-1] = CallArgumentsChunk(last.index, last.json + chunk.json)
        elif not isinstance(chunk, UsageChunk):
            whole.append(chunk)
    return [*usage, *whole]


def in_pieces(data: st.DataObject, stream: bytes) -> list[bytes]:
    """The stream, cut wherever Hypothesis likes, also in the middle of a character."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    return [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


def assert_read_alike_in_pieces(new_reply: NewReply, stream: bytes, data: st.DataObject) -> None:
    """However the network cuts it, the same chunks and the same fault come out."""
    whole, split = read(new_reply, stream), read(new_reply, *in_pieces(data, stream))
    assert split.chunks == whole.chunks
    assert (split.fault and split.fault.message) == (whole.fault and whole.fault.message)


def json_of(words: str) -> st.SearchStrategy[Any]:
    """Any JSON that uses the words of a dialect in any way."""
    keys = words.split()
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(keys),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(keys), inner, max_size=4),
        max_leaves=12,
    )
