"""The result object, field by field."""

import io
from typing import Any

import msgspec
import pytest

from robota.clients.headless.formats import print_failure
from robota.clients.headless.options import OutputFormat
from robota.protocol.conversation import AssistantTurn, TextBlock, Usage
from robota.protocol.events import ContextUpdate, TaskTokenUsageUpdated, TokenUsage, TurnReply
from tests.clients.headless.headless_run import run_steps
from tests.clients.stories import READ, READ_RESULT, TASK, Story

UNSURE = {"duration_ms", "duration_api_ms", "uuid"}


def known(result: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key not in UNSURE}


def test_a_run_with_a_denied_call_gives_every_field() -> None:
    story = Story().add(ContextUpdate(task_id=TASK, used_tokens=10, max_tokens=1000, used_percentage=1.0))
    story.reply(calls=(READ,)).run(READ, status="denied", reason="needs approval").results(READ_RESULT)
    ran = run_steps(story.done("the answer").steps)
    assert known(ran.result) == {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "the answer",
        "session_id": "session-1",
        "num_turns": 2,
        "usage": {
            "input_tokens": 20,
            "output_tokens": 10,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 6,
        },
        "modelUsage": {
            "model-x": {
                "inputTokens": 20,
                "outputTokens": 10,
                "cacheReadInputTokens": 6,
                "cacheCreationInputTokens": 0,
                "costUSD": 0.5,
                "webSearchRequests": 0,
                "contextWindow": 1000,
            }
        },
        "total_cost_usd": 0.5,
        "permission_denials": [{"tool_name": "read_file", "tool_use_id": "call-1", "tool_input": {"path": "a"}}],
        "terminal_reason": "completed",
        "stop_reason": "end_turn",
    }
    assert 0 <= ran.result["duration_api_ms"] <= ran.result["duration_ms"]
    assert len(ran.result["uuid"]) == 36
    assert len(ran.lines) == 1


def test_usage_of_requests_without_a_reply_counts_and_each_model_has_its_share() -> None:
    story = Story()
    for model, spent, total in (("small", 1.0, 100), ("big", 4.0, 400)):
        turn = AssistantTurn(content=(TextBlock(text="x"),), model=model, usage=Usage(input_tokens=50))
        usage = TaskTokenUsageUpdated(
            task_id=TASK, token_usage=TokenUsage(total_cost=spent), usage=Usage(input_tokens=total)
        )
        story.add(usage, TurnReply(task_id=TASK, reply=turn))
    result = run_steps(story.ask("resume_task").steps).result
    assert (result["usage"]["input_tokens"], result["total_cost_usd"]) == (400, 4.0)
    assert {name: share["costUSD"] for name, share in result["modelUsage"].items()} == {"small": 1.0, "big": 3.0}


def test_an_engine_that_reports_no_totals_still_gets_a_sum() -> None:
    turn = AssistantTurn(content=(), model="m", usage=Usage(output_tokens=5))
    story = Story().add(TurnReply(task_id=TASK, reply=turn), TurnReply(task_id=TASK, reply=turn))
    assert run_steps(story.ask("resume_task").steps).result["usage"]["output_tokens"] == 10


@pytest.mark.parametrize("output_format", [OutputFormat.JSON, OutputFormat.STREAM_JSON])
def test_a_failure_before_any_session_has_the_same_fields(output_format: OutputFormat) -> None:
    out, err = io.BytesIO(), io.StringIO()
    print_failure("There is no provider.", output_format, out, err)
    printed = run_steps(Story().ask("mistake_limit_reached").steps, output_format).result
    failed = decoded(out)
    assert failed.keys() == printed.keys()
    assert (failed["is_error"], failed["result"], failed["errors"]) == (True, "", ["There is no provider."])
    assert err.getvalue() == ""


@pytest.mark.parametrize("output_format", [OutputFormat.TEXT, OutputFormat.MESSAGES])
def test_a_failure_before_any_session_goes_to_stderr_in_the_readable_formats(output_format: OutputFormat) -> None:
    out, err = io.BytesIO(), io.StringIO()
    print_failure("There is no provider.", output_format, out, err)
    assert out.getvalue() == b""
    assert err.getvalue() == "robota: There is no provider.\n"


def decoded(out: io.BytesIO) -> dict[str, Any]:
    result: dict[str, Any] = msgspec.json.decode(out.getvalue())
    return result
