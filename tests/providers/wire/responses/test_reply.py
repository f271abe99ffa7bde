"""What comes out of a Responses reply."""

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
from robota.providers.wire.responses.reply import responses_reply
from robota.providers.wire.responses.thinking import ReasoningItem, sealed
from tests.providers.conversing import calls_of, finish_of, text_of
from tests.providers.wire_shapes import assert_read_alike_in_pieces, event, json_of, read, shape


def ended(**fields: Any) -> bytes:
    kind = "incomplete" if fields.get("incomplete_details") else "completed"
    return event({"type": f"response.{kind}", "response": fields})


def item(step: str, index: int, **fields: Any) -> bytes:
    return event({"type": f"response.output_item.{step}", "output_index": index, "item": fields})


def test_text_with_cached_and_reasoning_tokens() -> None:
    usage = Usage(input_tokens=22, output_tokens=52, cache_creation_input_tokens=50, cache_read_input_tokens=256)
    assert read(responses_reply, shape("openai_responses_text")).chunks == [
        UsageChunk(usage),
        TextChunk("Größe 漢字 🎉"),
        FinishChunk("end_turn"),
    ]


def test_reasoning_and_parallel_calls_whose_pieces_are_interleaved() -> None:
    outcome = read(responses_reply, shape("openai_responses_thinking"))
    assert outcome.fault is None
    assert outcome.chunks[1:] == [
        ThinkingChunk("**Looking**\n\n**Listing**", sealed([ReasoningItem("rs_01", "gAAAAABwhole")])),
        CallStartChunk(0, "call_A", "read_file"),
        CallArgumentsChunk(0, '{"path":'),
        CallStartChunk(1, "call_B", "list_files"),
        CallArgumentsChunk(0, '"ä.txt"}'),
        CallArgumentsChunk(1, '{"path":"."}'),
        FinishChunk("tool_use"),
    ]


def test_several_items_of_one_stretch_are_sealed_together_and_the_next_stretch_apart() -> None:
    def reasoning(index: int, **fields: Any) -> bytes:
        return item("done", index, type="reasoning", id=f"rs_{index}", **fields)

    stream = (
        reasoning(0, encrypted_content="A")
        + reasoning(1, encrypted_content="B")
        + event({"type": "response.output_text.delta", "delta": "so"})
        + reasoning(3)
        + item("added", 4, type="function_call", call_id="a", name="x")
        + reasoning(5, encrypted_content="C")
        + ended()
    )
    first, _, second, _, third, _ = read(responses_reply, stream).chunks
    assert first == ThinkingChunk("", sealed([ReasoningItem("rs_0", "A"), ReasoningItem("rs_1", "B")]))
    assert second == ThinkingChunk("", sealed([]))
    assert third == ThinkingChunk("", sealed([ReasoningItem("rs_5", "C")]))


@pytest.mark.parametrize(
    ("why", "reason"),
    [("max_output_tokens", "max_tokens"), ("content_filter", "content_filter"), ("odd", "odd")],
)
def test_incomplete_replies(why: str, reason: str) -> None:
    assert finish_of(read(responses_reply, ended(incomplete_details={"reason": why})).chunks) == reason


def test_a_call_cut_before_its_first_argument_does_not_pass_for_one_without_arguments() -> None:
    opened = item("added", 0, type="function_call", call_id="a", name="attempt_completion", arguments="")
    done = item("done", 0, type="function_call", call_id="a", name="attempt_completion", arguments="")
    cut = ended(incomplete_details={"reason": "max_output_tokens"})
    assert calls_of(read(responses_reply, opened + done + cut).chunks) == [("a", "attempt_completion", "{")]
    assert calls_of(read(responses_reply, opened + done + ended()).chunks) == [("a", "attempt_completion", "")]


def test_a_refusal_is_said() -> None:
    stream = event({"type": "response.refusal.delta", "delta": "I will not."}) + ended()
    chunks = read(responses_reply, stream).chunks
    assert text_of(chunks) == "I will not." and chunks[-1] == FinishChunk("content_filter")


def test_a_server_that_sends_a_call_whole_and_at_its_end_only() -> None:
    stream = item("done", 0, type="function_call", call_id="a", name="x", arguments='{"p":1}') + ended()
    assert calls_of(read(responses_reply, stream).chunks) == [("a", "x", '{"p":1}')]


def test_a_failed_reply_says_when_to_come_back_and_what_came_before_is_kept() -> None:
    outcome = read(responses_reply, shape("openai_responses_failed"))
    assert text_of(outcome.chunks) == "As far as "
    assert outcome.fault is not None
    assert outcome.fault.kind is FaultKind.RATE_LIMIT
    assert outcome.fault.retry_after_s == 1.898


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"type": "error", "code": "server_error", "message": "x", "param": None}, FaultKind.SERVER),
        ({"type": "error", "error": {"code": "insufficient_quota", "message": "x"}}, FaultKind.BILLING),
        ({"type": "error", "code": "context_length_exceeded", "message": "x"}, FaultKind.CONTEXT_TOO_LONG),
        ({"type": "error", "code": "invalid_prompt", "message": "flagged"}, FaultKind.CONTENT_FILTER),
        ({"type": "response.failed", "response": {"error": {"code": "odd", "message": "x"}}}, FaultKind.SERVER),
        ({"type": "response.failed", "response": {"error": None}}, FaultKind.SERVER),
    ],
)
def test_errors_by_name(data: Any, kind: FaultKind) -> None:
    fault = read(responses_reply, event(data)).fault
    assert fault is not None
    assert fault.kind is kind


@pytest.mark.parametrize("cut", ["function_call_arguments.delta", '"output_index":2', "response.completed"])
def test_a_reply_that_breaks_off_is_cut_and_never_finished(cut: str) -> None:
    whole = shape("openai_responses_thinking")
    outcome = read(responses_reply, whole[: whole.index(cut.encode())])
    assert outcome.fault is not None
    assert outcome.fault.kind is FaultKind.STREAM_CUT
    assert not any(isinstance(chunk, FinishChunk) for chunk in outcome.chunks)


@pytest.mark.parametrize("name", ["openai_responses_text", "openai_responses_thinking", "openai_responses_failed"])
@given(data=st.data())
def test_any_split_gives_the_same_chunks(name: str, data: st.DataObject) -> None:
    assert_read_alike_in_pieces(responses_reply, shape(name), data)


WORDS = (
    "type response.output_text.delta response.output_item.added response.output_item.done response.completed "
    "response.failed response.function_call_arguments.delta error delta output_index item response function_call "
    "reasoning encrypted_content id call_id name arguments usage incomplete_details"
)


@given(st.lists(json_of(WORDS).map(event) | st.binary(max_size=20) | st.just(ended()), max_size=6))
def test_whatever_a_server_sends_it_is_a_reply_or_a_fault(reads: list[bytes]) -> None:
    outcome = read(responses_reply, *reads)
    assert outcome.fault is not None or isinstance(outcome.chunks[-1], FinishChunk)
