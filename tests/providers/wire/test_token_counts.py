"""Token counts as no server should write them: the answer comes through, and what can be read of them counts."""

import json
from typing import Any

import pytest

from robota.protocol.conversation import Usage
from robota.providers.chunks import UsageChunk
from robota.providers.wire.anthropic.reply import anthropic_reply
from robota.providers.wire.chat.reply import chat_reply
from robota.providers.wire.gemini.reply import gemini_reply
from robota.providers.wire.responses.reply import responses_reply
from tests.providers.conversing import text_of
from tests.providers.wire_shapes import NewReply, read

ODD = [100.0, "100", 100.5, "many", None, True, [], {"total": 3}, -4, 10**30]
COUNTED = {"100.0": 100, '"100"': 100}


def event(data: Any) -> bytes:
    """Numbers of any size, which the shared one cannot write."""
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def chat(count: Any) -> bytes:
    usage = {"prompt_tokens": count, "completion_tokens": 7}
    return event({"choices": [{"delta": {"content": "whole"}, "finish_reason": "stop"}]}) + event(
        {"choices": [], "usage": usage}
    )


def anthropic(count: Any) -> bytes:
    usage = {"input_tokens": count, "output_tokens": 7}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "whole"}}
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    return b"".join(map(event, ({"type": "message_start", "message": {"usage": usage}}, delta, ended)))


def gemini(count: Any) -> bytes:
    parts = {"content": {"parts": [{"text": "whole"}]}, "finishReason": "STOP"}
    return event({"candidates": [parts], "usageMetadata": {"promptTokenCount": count, "candidatesTokenCount": 7}})


def responses(count: Any) -> bytes:
    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": "whole"}
    response = {"status": "completed", "usage": {"input_tokens": count, "output_tokens": 7}}
    return event(delta) + event({"type": "response.completed", "response": response})


@pytest.mark.parametrize("count", ODD, ids=json.dumps)
@pytest.mark.parametrize(
    ("new_reply", "sent"),
    [(chat_reply, chat), (anthropic_reply, anthropic), (gemini_reply, gemini), (responses_reply, responses)],
    ids=["chat", "anthropic", "gemini", "responses"],
)
def test_an_odd_count_never_costs_the_answer(new_reply: NewReply, sent: Any, count: Any) -> None:
    """Such as `"prompt_tokens": 100.0`; the answer is kept and not requested again."""
    result = read(new_reply, sent(count))
    assert result.fault is None and text_of(result.chunks) == "whole"
    usage = next(chunk.usage for chunk in result.chunks if isinstance(chunk, UsageChunk))
    assert usage == Usage(input_tokens=COUNTED.get(json.dumps(count), 0), output_tokens=7)


@pytest.mark.parametrize("usage", ["none", 3, [], [1], True])
def test_something_that_is_no_usage_at_all_is_passed_over(usage: Any) -> None:
    body = event({"choices": [{"delta": {"content": "whole"}, "finish_reason": "stop"}], "usage": usage})
    result = read(chat_reply, body)
    assert result.fault is None and text_of(result.chunks) == "whole"
    assert not any(isinstance(chunk, UsageChunk) for chunk in result.chunks)


@pytest.mark.parametrize(("cost", "known"), [("0.25", 0.25), (-3, None), ("free", None)])
def test_a_cost_that_cannot_be_is_not_counted(cost: Any, known: float | None) -> None:
    """A negative cost would raise the budget."""
    body = event({"choices": [{"delta": {"content": "whole"}, "finish_reason": "stop"}]})
    body += event({"choices": [], "usage": {"prompt_tokens": 1, "cost": cost}})
    chunk = next(chunk for chunk in read(chat_reply, body).chunks if isinstance(chunk, UsageChunk))
    assert chunk.cost == known and chunk.usage.input_tokens == 1
