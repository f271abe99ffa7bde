"""What comes out of a Gemini reply."""

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
from robota.providers.wire.gemini.reply import gemini_reply
from robota.providers.wire.gemini.thinking import Signatures, sealed
from tests.providers.conversing import calls_of, finish_of, text_of
from tests.providers.wire_shapes import assert_read_alike_in_pieces, event, json_of, read, shape


def said(*parts: dict[str, Any], finish: str | None = None) -> bytes:
    return event({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish}]})


def test_text_with_cached_tokens_and_tokens_of_thought() -> None:
    usage = Usage(input_tokens=172, output_tokens=52, cache_read_input_tokens=128)
    assert read(gemini_reply, shape("gemini_text")).chunks == [
        UsageChunk(usage),
        TextChunk("Größe 漢字 🎉"),
        FinishChunk("end_turn"),
    ]


def test_thoughts_parallel_calls_and_the_signature_of_each_part() -> None:
    outcome = read(gemini_reply, shape("gemini_thinking"))
    assert outcome.fault is None
    signatures = Signatures(last="c2lnbmVkIHRleHQ=", length=5, next="c2lnbmVkIGNhbGw=")
    assert outcome.chunks[1:] == [
        ThinkingChunk("**Looking** around.", sealed(Signatures())),
        TextChunk("I read both."),
        ThinkingChunk("", sealed(signatures)),
        CallStartChunk(0, "fc-1", "read_file"),
        CallArgumentsChunk(0, '{"path":"ä.txt"}'),
        CallStartChunk(1, "fc-2", "list_files"),
        CallArgumentsChunk(1, '{"path":"."}'),
        FinishChunk("tool_use"),
    ]


def test_later_thoughts_do_not_inherit_a_signature() -> None:
    stream = said(
        {"functionCall": {"name": "x"}, "thoughtSignature": "S"}, {"text": "hm", "thought": True}, finish="STOP"
    )
    thoughts = [chunk for chunk in read(gemini_reply, stream).chunks if isinstance(chunk, ThinkingChunk)]
    assert thoughts == [ThinkingChunk("", sealed(Signatures(next="S"))), ThinkingChunk("hm", sealed(Signatures()))]


@pytest.mark.parametrize(
    ("given_reason", "reason"),
    [
        ("STOP", "end_turn"),
        ("MAX_TOKENS", "max_tokens"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("OTHER", "other"),
    ],
)
def test_why_it_ended(given_reason: str, reason: str) -> None:
    assert finish_of(read(gemini_reply, said({"text": "x"}, finish=given_reason)).chunks) == reason


def test_a_call_without_id_or_arguments() -> None:
    assert calls_of(read(gemini_reply, said({"functionCall": {"name": "x"}}, finish="STOP")).chunks) == [
        ("", "x", "{}")
    ]


def test_a_call_that_the_server_could_not_read_is_worth_another_try() -> None:
    outcome = read(gemini_reply, shape("gemini_malformed_call"))
    assert text_of(outcome.chunks) == "As far as "
    assert outcome.fault is not None
    assert outcome.fault.retryable
    assert "default_api.read_file" in outcome.fault.message
    assert not any(isinstance(chunk, FinishChunk) for chunk in outcome.chunks)


def test_a_blocked_prompt_is_a_content_filter() -> None:
    fault = read(gemini_reply, shape("gemini_blocked")).fault
    assert fault is not None
    assert fault.kind is FaultKind.CONTENT_FILTER
    assert "PROHIBITED_CONTENT" in fault.message


def test_an_error_in_mid_stream_says_when_to_come_back() -> None:
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    error = {"code": 429, "message": "Resource exhausted", "status": "RESOURCE_EXHAUSTED", "details": [retry]}
    outcome = read(gemini_reply, said({"text": "As far "}) + event({"error": error}))
    assert text_of(outcome.chunks) == "As far "
    assert outcome.fault is not None
    assert (outcome.fault.kind, outcome.fault.retry_after_s) == (FaultKind.RATE_LIMIT, 34.5)


def test_an_error_in_an_answer_that_is_no_stream() -> None:
    body = b'[{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}]'
    fault = read(gemini_reply, body).fault
    assert fault is not None
    assert fault.kind is FaultKind.OVERLOADED


def test_a_reply_that_breaks_off_is_cut_and_never_finished() -> None:
    whole = shape("gemini_thinking")
    for cut in (b"functionCall", b'"finishReason"'):
        outcome = read(gemini_reply, whole[: whole.index(cut)])
        assert outcome.fault is not None
        assert outcome.fault.kind is FaultKind.STREAM_CUT


@pytest.mark.parametrize("name", ["gemini_text", "gemini_thinking", "gemini_malformed_call", "gemini_blocked"])
@given(data=st.data())
def test_any_split_gives_the_same_chunks(name: str, data: st.DataObject) -> None:
    assert_read_alike_in_pieces(gemini_reply, shape(name), data)


WORDS = (
    "candidates content parts text thought thoughtSignature functionCall name args id finishReason STOP usageMetadata "
    "promptFeedback blockReason error promptTokenCount MALFORMED_FUNCTION_CALL"
)


@given(st.lists(json_of(WORDS).map(event) | st.binary(max_size=20) | st.just(said(finish="STOP")), max_size=6))
def test_whatever_a_server_sends_it_is_a_reply_or_a_fault(reads: list[bytes]) -> None:
    outcome = read(gemini_reply, *reads)
    assert outcome.fault is not None or isinstance(outcome.chunks[-1], FinishChunk)
