"""What comes out of a Chat Completions reply."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.protocol.conversation import Usage
from robota.providers.chunks import (
    CallArgumentsChunk,
    CallStartChunk,
    Chunk,
    FinishChunk,
    TextChunk,
    ThinkingChunk,
    UsageChunk,
)
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.wire.chat.reply import chat_reply
from tests.providers.conversing import calls_of, finish_of, text_of

DONE = b"data: [DONE]\n\n"


def delta(finish: str | None = None, **fields: Any) -> bytes:
    return event({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def call(arguments: str | None = None, name: str | None = None, **fields: Any) -> bytes:
    function = {"name": name, "arguments": arguments}
    return delta(
        tool_calls=[{**fields, "function": {key: value for key, value in function.items() if value is not None}}]
    )


def event(data: Any) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def read(*reads: bytes) -> list[Chunk]:
    reply = chat_reply()
    chunks = [chunk for data in reads for chunk in reply.feed(data)]
    if not reply.complete and reply.fault is None:
        chunks += reply.finish()
    if reply.fault is not None:
        raise reply.fault
    return chunks


def test_text_that_arrived_together_comes_as_one() -> None:
    stream = delta(content="Hel") + delta(content="lo ") + delta(content="ä") + delta(finish="stop") + DONE
    assert read(stream) == [TextChunk("Hello ä"), FinishChunk("end_turn")]


def test_reasoning_under_either_name() -> None:
    stream = delta(reasoning_content="a") + delta(reasoning="b") + delta(content="c") + delta("stop") + DONE
    assert read(stream) == [ThinkingChunk("ab"), TextChunk("c"), FinishChunk("end_turn")]


def test_calls_in_pieces() -> None:
    stream = (
        call(index=0, id="a", name="read", arguments="")
        + call(index=0, arguments='{"p":')
        + call(index=0, arguments="1}")
        + call(index=1, id="b", name="list", arguments="{}")
        + delta("tool_calls")
        + DONE
    )
    assert read(stream) == [
        CallStartChunk(0, "a", "read"),
        CallArgumentsChunk(0, '{"p":1}'),
        CallStartChunk(1, "b", "list"),
        CallArgumentsChunk(1, "{}"),
        FinishChunk("tool_use"),
    ]


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        # The name comes after the first arguments, the id with it.
        ([call("{", index=0), call("}", "x", index=0, id="a")], [("a", "x", "{}")]),
        # The id comes after the name.
        ([call(index=0, name="x"), call(index=0, id="a", arguments="{}")], [("a", "x", "{}")]),
        # No id at all.
        ([call("{}", "x", index=0)], [("", "x", "{}")]),
        # No index: the id tells calls apart, and pieces without either belong to the last call.
        ([call("", "x", id="a"), call("1"), call("", "y", id="b"), call("2")], [("a", "x", "1"), ("b", "y", "2")]),
        # Neither index nor id: a name begins a call.
        ([call("1", "x"), call("2", "x")], [("", "x", "1"), ("", "x", "2")]),
        # Every call has index 0.
        ([call("1", "x", index=0, id="a"), call("2", "x", index=0, id="b")], [("a", "x", "1"), ("b", "x", "2")]),
        # The name is repeated in every piece.
        ([call("1", "x", index=0, id="a"), call("2", "x", index=0, id="a")], [("a", "x", "12")]),
        # The pieces of two calls are interleaved, and the first index is not 0.
        (
            [call("1", "x", index=3, id="a"), call("9", "y", index=5, id="b"), call("2", index=3)],
            [("a", "x", "12"), ("b", "y", "9")],
        ),
        # A call that never gets a name is not swallowed.
        ([call("{}", index=0, id="a")], [("a", "", "{}")]),
        # Arguments as an object.
        ([delta(tool_calls=[{"id": "a", "function": {"name": "x", "arguments": {"p": 1}}}])], [("a", "x", '{"p":1}')]),
        # No arguments at all.
        ([call(index=0, id="a", name="x")], [("a", "x", "")]),
        # The form before tools existed.
        (
            [delta(function_call={"name": "x", "arguments": "{"}), delta(function_call={"arguments": "}"})],
            [("", "x", "{}")],
        ),
    ],
)
def test_calls_of_servers_that_leave_things_out(pieces: list[bytes], calls: list[tuple[str, str, str]]) -> None:
    for reads in ([*pieces, DONE], [b"".join(pieces) + DONE]):
        chunks = read(*reads)
        assert calls_of(chunks) == calls
        assert finish_of(chunks) == "tool_use"


def test_usage_excludes_what_came_from_the_cache() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}, "cost": 0.5}
    chunks = read(delta("stop") + event({"choices": [], "usage": usage}) + DONE)
    expected = Usage(input_tokens=40, output_tokens=7, cache_read_input_tokens=60)
    assert chunks == [UsageChunk(expected, 0.5), FinishChunk("end_turn")]


@pytest.mark.parametrize("field", ["cache_write_tokens", "cache_creation_input_tokens"])
def test_what_was_written_to_the_cache_is_counted_apart(field: str) -> None:
    """It costs more than other input."""
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60, field: 30}}
    chunks = read(delta("stop") + event({"choices": [], "usage": usage}) + DONE)
    written = Usage(input_tokens=10, output_tokens=7, cache_read_input_tokens=60, cache_creation_input_tokens=30)
    assert chunks[0] == UsageChunk(written, None)


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "end_turn"),
        ("tool_calls", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "content_filter"),
        ("odd", "odd"),
    ],
)
def test_why_it_ended(finish: str, reason: str) -> None:
    assert finish_of(read(delta(content="x") + delta(finish) + DONE)) == reason


def test_the_end_may_lack_its_mark_or_its_reason_but_not_both() -> None:
    assert finish_of(read(delta(content="x") + delta("stop"))) == "end_turn"
    assert finish_of(read(delta(content="x") + DONE)) == "end_turn"
    assert finish_of(read(delta(content="x") + b"data: [DONE]")) == "end_turn"
    with pytest.raises(ProviderFault) as caught:
        read(delta(content="x"))
    assert caught.value.kind is FaultKind.STREAM_CUT


def test_nothing_at_all_is_a_cut_stream() -> None:
    with pytest.raises(ProviderFault, match="cut short"):
        read(b"")


@pytest.mark.parametrize("data", [b"data: {oops\n\n", b"data: [1]\n\n", b'data: {"choices": 7}\n\n', b"data: \xff\n\n"])
def test_an_event_that_cannot_be_read_is_a_cut_stream(data: bytes) -> None:
    with pytest.raises(ProviderFault) as caught:
        read(delta(content="x") + data)
    assert caught.value.kind is FaultKind.STREAM_CUT
    assert caught.value.retryable


@pytest.mark.parametrize(
    "data",
    [
        {"error": {"message": "the GPU is on fire", "code": 500}},
        {"error": "the GPU is on fire"},
        {"object": "error", "message": "the GPU is on fire", "code": 500},
    ],
)
def test_an_error_in_mid_stream_is_a_fault(data: Any) -> None:
    with pytest.raises(ProviderFault, match="the GPU is on fire") as caught:
        read(delta(content="x") + event(data))
    assert caught.value.kind is FaultKind.SERVER


def test_one_plain_json_object_instead_of_a_stream() -> None:
    message = {"content": "hi", "tool_calls": [{"id": "a", "function": {"name": "x", "arguments": "{}"}}]}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3}}
    text = json.dumps(body, indent=1).encode()
    chunks = read(b"  " + text[:10], text[10:])
    assert text_of(chunks) == "hi"
    assert calls_of(chunks) == [("a", "x", "{}")]
    assert finish_of(chunks) == "tool_use"


def test_a_plain_body_that_is_cut_or_no_reply_at_all() -> None:
    with pytest.raises(ProviderFault) as cut:
        read(b'{"choices": [{"mess')
    assert cut.value.kind is FaultKind.STREAM_CUT
    for body in (b"<html>Sign in</html>", b'{"hello": 1}'):
        with pytest.raises(ProviderFault, match="baseURL") as wrong:
            read(body)
        assert wrong.value.kind is FaultKind.INVALID_REQUEST


def test_a_character_sent_in_halves_arrives_whole() -> None:
    halves = (
        delta(content="a\ud83d") + delta(content="\ude00b") + call("\ud83d", "x", index=0) + call("\ude00", index=0)
    )
    chunks = read(halves + DONE)
    assert text_of(chunks) == "a😀b"
    assert calls_of(chunks) == [("", "x", "😀")]
    assert text_of(read(delta(content="\ude00 alone") + DONE)) == "\ufffd alone"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "content", "tool_calls", "function", "arguments", "index", "id", "usage", "error"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.lists(st.one_of(JSON.map(event), st.binary(max_size=20), st.just(DONE), st.just(delta(content="x"))), max_size=6)
)
def test_whatever_a_server_sends_it_is_a_reply_or_a_fault(reads: list[bytes]) -> None:
    try:
        chunks = read(*reads)
    except ProviderFault:
        return
    assert isinstance(chunks[-1], FinishChunk)


@given(st.text(max_size=60), st.text(max_size=60), st.data())
def test_any_split_gives_the_same_reply(text: str, arguments: str, data: st.DataObject) -> None:
    stream = delta(content=text) + call(arguments, "x", index=0, id="a") + delta("tool_calls") + DONE
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = read(*(stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)))
    assert text_of(chunks) == text
    assert calls_of(chunks) == [("a", "x", arguments)]
