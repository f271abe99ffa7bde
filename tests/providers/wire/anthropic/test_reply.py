"""What comes out of a Messages reply."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.protocol.conversation import Usage
from robota.providers.chunks import (
    CallArgumentsChunk,
    CallStartChunk,
    FinishChunk,
    TextChunk,
    ThinkingChunk,
    UsageChunk,
)
from robota.providers.fault import FaultKind
from robota.providers.pricing import Price, cost
from robota.providers.wire.anthropic.reply import anthropic_reply
from tests.providers.conversing import calls_of, finish_of, text_of
from tests.providers.wire_shapes import assert_read_alike_in_pieces, event, json_of, read, shape

STOP = event({"type": "message_stop"})


def ended(reason: str) -> bytes:
    return event({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}}) + STOP


def started(index: int, **block: Any) -> bytes:
    return event({"type": "content_block_start", "index": index, "content_block": block})


def stopped(index: int) -> bytes:
    return event({"type": "content_block_stop", "index": index})


def delta(index: int, **fields: Any) -> bytes:
    return event({"type": "content_block_delta", "index": index, "delta": fields})


def test_text_with_usage_a_ping_and_an_event_nobody_knows() -> None:
    usage = Usage(input_tokens=25, output_tokens=15, cache_creation_input_tokens=1200, cache_read_input_tokens=3400)
    assert read(anthropic_reply, shape("anthropic_text")).chunks == [
        UsageChunk(usage),
        TextChunk("Größe 漢字 🎉"),
        FinishChunk("end_turn"),
    ]


def test_parallel_calls_one_of_them_without_arguments() -> None:
    outcome = read(anthropic_reply, shape("anthropic_tools"))
    assert outcome.fault is None
    assert outcome.chunks[1:] == [
        TextChunk("Both at once."),
        CallStartChunk(0, "toolu_01A", "read_file"),
        CallArgumentsChunk(0, '{"path": "ä.txt"}'),
        CallStartChunk(1, "toolu_01B", "list_files"),
        FinishChunk("tool_use"),
    ]


def test_thoughts_keep_every_signature_of_their_stretch() -> None:
    chunks = read(anthropic_reply, shape("anthropic_thinking")).chunks
    first, second = (chunk for chunk in chunks if isinstance(chunk, ThinkingChunk))
    assert first.text == "First I look around. Then I list."
    for secret in ("BdjrkzLoky3dl1pk=", "EmwKAhgBEgy3va3pzix", "EqQBCgIYAhIMsecond="):
        assert secret in (first.signature or "")
    assert second == ThinkingChunk("Now.", "EqQBCgIYAhIMthird=")


def test_cache_writes_may_come_by_their_life_time_only() -> None:
    usage = {"input_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 3}}
    chunks = read(anthropic_reply, event({"type": "message_start", "message": {"usage": usage}}) + ended("x")).chunks
    assert chunks[0] == UsageChunk(Usage(input_tokens=1, output_tokens=3, cache_creation_input_tokens=5), hour_writes=3)


def test_what_is_kept_for_an_hour_costs_twice_the_input() -> None:
    price = Price(input=3, output=15, cache_read=0.3, cache_write=3.75)

    def cost_of(five_minutes: int, hour: int) -> float | None:
        parts = {"ephemeral_5m_input_tokens": five_minutes, "ephemeral_1h_input_tokens": hour}
        start = event({"type": "message_start", "message": {"usage": {"cache_creation": parts}}})
        chunk = read(anthropic_reply, start + ended("end_turn")).chunks[0]
        assert isinstance(chunk, UsageChunk)
        return cost(chunk.usage, price, chunk.hour_writes)

    assert cost_of(0, 1_000_000) == pytest.approx(6 + 3 * 15 / 1_000_000)
    assert cost_of(1_000_000, 0) == pytest.approx(3.75 + 3 * 15 / 1_000_000)


@pytest.mark.parametrize(
    ("given_reason", "reason"),
    [
        ("end_turn", "end_turn"),
        ("stop_sequence", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("model_context_window_exceeded", "max_tokens"),
        ("refusal", "content_filter"),
        ("pause_turn", "pause_turn"),
    ],
)
def test_why_it_ended(given_reason: str, reason: str) -> None:
    assert finish_of(read(anthropic_reply, ended(given_reason)).chunks) == reason


def test_an_error_in_mid_stream_is_a_fault_and_what_came_before_it_is_kept() -> None:
    outcome = read(anthropic_reply, shape("anthropic_overloaded"))
    assert text_of(outcome.chunks) == "As far as "
    assert outcome.fault is not None
    assert outcome.fault.kind is FaultKind.OVERLOADED
    assert "Overloaded" in outcome.fault.message


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "api_error", "message": "Internal server error"}, FaultKind.SERVER),
        ({"type": "authentication_error", "message": "invalid x-api-key"}, FaultKind.AUTHENTICATION),
        ({"type": "rate_limit_error", "message": "slow"}, FaultKind.RATE_LIMIT),
        ({"type": "invalid_request_error", "message": "prompt is too long: 9 tokens"}, FaultKind.CONTEXT_TOO_LONG),
        ({"type": "invalid_request_error", "message": "messages.0: bad"}, FaultKind.INVALID_REQUEST),
        ("no object at all", FaultKind.SERVER),
        (None, FaultKind.SERVER),
    ],
)
def test_errors_by_name(error: Any, kind: FaultKind) -> None:
    fault = read(anthropic_reply, event({"type": "error", "error": error})).fault
    assert fault is not None
    assert fault.kind is kind


@pytest.mark.parametrize("cut", ["input_json_delta", "tool_use", "text_delta", "message_delta"])
def test_a_reply_that_breaks_off_is_cut_and_never_finished(cut: str) -> None:
    whole = shape("anthropic_tools")
    outcome = read(anthropic_reply, whole[: whole.index(cut.encode())])
    assert outcome.fault is not None
    assert outcome.fault.kind is FaultKind.STREAM_CUT
    assert not any(isinstance(chunk, FinishChunk) for chunk in outcome.chunks)


def test_a_call_cut_before_its_first_argument_does_not_pass_for_one_without_arguments() -> None:
    call = started(0, type="tool_use", id="a", name="attempt_completion", input={}) + stopped(0)
    assert calls_of(read(anthropic_reply, call + ended("max_tokens")).chunks) == [("a", "attempt_completion", "{")]
    assert calls_of(read(anthropic_reply, call + ended("tool_use")).chunks) == [("a", "attempt_completion", "")]


def test_servers_that_leave_things_out() -> None:
    whole_input = started(0, type="tool_use", id="a", name="x", input={"p": 1}) + stopped(0) + ended("end_turn")
    assert calls_of(read(anthropic_reply, whole_input).chunks) == [("a", "x", '{"p":1}')]
    assert finish_of(read(anthropic_reply, whole_input).chunks) == "tool_use"
    without_stop = delta(0, type="text_delta", text="x") + ended("end_turn").removesuffix(STOP)
    assert finish_of(read(anthropic_reply, without_stop).chunks) == "end_turn"
    unsigned = started(0, type="thinking", thinking="hm") + stopped(0) + ended("end_turn")
    assert read(anthropic_reply, unsigned).chunks[1] == ThinkingChunk("hm", None)


@pytest.mark.parametrize(
    "body",
    [b"<html>Sign in</html>", b'{"hello": 1}', b"data: {oops\n\n", b'data: {"index": "x"}\n\n', b"data: \xff\n\n", b""],
)
def test_what_is_no_reply_is_a_fault(body: bytes) -> None:
    outcome = read(anthropic_reply, body)
    assert outcome.fault is not None
    assert outcome.chunks == []


def test_an_error_in_an_answer_that_is_no_stream() -> None:
    fault = read(anthropic_reply, b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}').fault
    assert fault is not None
    assert fault.kind is FaultKind.OVERLOADED


@pytest.mark.parametrize("name", ["anthropic_text", "anthropic_tools", "anthropic_thinking", "anthropic_overloaded"])
@given(data=st.data())
def test_any_split_gives_the_same_chunks(name: str, data: st.DataObject) -> None:
    assert_read_alike_in_pieces(anthropic_reply, shape(name), data)


WORDS = (
    "type content_block_start content_block_delta content_block_stop message_start message_delta message_stop error "
    "index delta content_block message usage text thinking signature tool_use redacted_thinking partial_json input id"
)


@given(st.lists(json_of(WORDS).map(event) | st.binary(max_size=20) | st.just(STOP), max_size=6))
def test_whatever_a_server_sends_it_is_a_reply_or_a_fault(reads: list[bytes]) -> None:
    outcome = read(anthropic_reply, *reads)
    assert outcome.fault is not None or isinstance(outcome.chunks[-1], FinishChunk)
