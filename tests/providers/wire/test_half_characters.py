"""Replies with characters in halves, lone halves and bytes that are not UTF-8, in every dialect and cut anywhere."""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from robota.providers.chunks import CallArgumentsChunk, Chunk, TextChunk
from robota.providers.wire.anthropic.reply import anthropic_reply
from robota.providers.wire.chat.reply import chat_reply
from robota.providers.wire.gemini.reply import gemini_reply
from robota.providers.wire.reply import WireReply
from robota.providers.wire.responses.reply import responses_reply

Events = Iterable[dict[str, Any]]


def chat(pieces: Sequence[str]) -> Events:
    yield from ({"choices": [{"delta": {"content": piece}}]} for piece in pieces)
    yield {"choices": [{"delta": {}, "finish_reason": "stop"}]}


def anthropic(pieces: Sequence[str]) -> Events:
    yield {"type": "message_start", "message": {"usage": {"input_tokens": 1}}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for piece in pieces:
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def responses(pieces: Sequence[str]) -> Events:
    for piece in pieces:
        yield {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": piece}
    yield {"type": "response.completed", "response": {"status": "completed", "output": []}}


def gemini(pieces: Sequence[str]) -> Events:
    yield from ({"candidates": [{"content": {"parts": [{"text": piece}]}}]} for piece in pieces)
    yield {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}


DIALECTS: dict[str, tuple[Callable[[Sequence[str]], Events], Callable[[], WireReply[Any]]]] = {
    "chat": (chat, chat_reply),
    "anthropic": (anthropic, anthropic_reply),
    "responses": (responses, responses_reply),
    "gemini": (gemini, gemini_reply),
}


def stream(events: Events) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def read(reply: WireReply[Any], data: bytes, places: Sequence[int] = ()) -> list[Chunk]:
    cuts = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    chunks = [chunk for start, end in pairwise(cuts) for chunk in reply.feed(data[start:end])]
    chunks += reply.finish()
    assert reply.fault is None, reply.fault
    return chunks


def text_of(chunks: Iterable[Chunk]) -> str:
    text = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))
    text.encode()
    return text


def whole(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


halves = st.sampled_from(["a", "é", "\N{GRINNING FACE}", "\ud83d", "\ude00", "\\", '"', "\\ud83d", "\n"])


@pytest.mark.parametrize("dialect", DIALECTS)
@given(pieces=st.lists(st.lists(halves, max_size=3).map("".join), max_size=6), places=st.lists(st.integers(0, 9_999)))
@example(pieces=["a\ud83d", "\ude00b"], places=[40])
@example(pieces=["a\ud83d", "b", "\ude00"], places=[])
@example(pieces=["\ud83d"], places=[])
def test_halves_are_joined_and_lone_ones_replaced(dialect: str, pieces: list[str], places: list[int]) -> None:
    events, new_reply = DIALECTS[dialect]
    chunks = read(new_reply(), stream(events(pieces)), places)
    assert text_of(chunks) == whole("".join(pieces))


@pytest.mark.parametrize("dialect", DIALECTS)
@given(bad=st.binary(min_size=1, max_size=4), places=st.lists(st.integers(0, 9_999), max_size=4))
@example(bad=b"\xff", places=[])
@example(bad=b"\xed\xa0\xbd", places=[])
def test_bytes_that_are_not_utf_8_cost_only_themselves(dialect: str, bad: bytes, places: list[int]) -> None:
    # What JSON does not allow in a string unescaped is another kind of damage.
    bad = bytes(byte if byte >= 0x80 else ord("x") for byte in bad)
    events, new_reply = DIALECTS[dialect]
    data = stream(events(["before ", "HERE", " after"])).replace(b"HERE", bad)
    assert text_of(read(new_reply(), data, places)) == f"before {bad.decode('utf-8', 'replace')} after"


def test_arguments_of_calls_that_take_turns_are_joined_each_for_itself() -> None:
    def call(index: int, arguments: str, name: str | None = None) -> dict[str, Any]:
        function = {"name": name, "arguments": arguments}
        return {"choices": [{"delta": {"tool_calls": [{"index": index, "id": f"c{index}", "function": function}]}}]}

    events = [call(0, "\ud83d", "a"), call(1, "\ud83d", "b"), call(0, "\ude00"), call(1, "x")]
    chunks = read(chat_reply(), stream([*events, {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}]))
    arguments = {0: "", 1: ""}
    for chunk in chunks:
        if isinstance(chunk, CallArgumentsChunk):
            arguments[chunk.index] += chunk.json
    assert arguments == {0: "\N{GRINNING FACE}", 1: "\N{REPLACEMENT CHARACTER}x"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_words_of_an_error_are_readable(dialect: str) -> None:
    error = {"type": "error", "error": {"message": "too \ud83d busy", "code": "x"}}
    reply = DIALECTS[dialect][1]()
    reply.feed(stream([error]))
    assert reply.fault is not None and "too \N{REPLACEMENT CHARACTER} busy" in reply.fault.message
