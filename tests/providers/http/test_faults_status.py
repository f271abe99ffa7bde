"""Answers that are not 200, as a session lives through them: what is waited for, what is not, and what is said."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from robota.protocol.asks.ask import Fault
from robota.protocol.commands import Accepted, CancelTask, RetryNow
from robota.protocol.events import RetryScheduled, TurnReply
from tests.engine.stage import Stage
from tests.providers.faulty import ANSWER, in_turn, live, status
from tests.providers.raw_server import RawServer

TOO_LONG = (
    b'{"error":{"message":"This model\'s maximum context length is 8192 tokens","code":"context_length_exceeded"}}'
)
FILTERED = b'{"error":{"message":"refused by content management policy","code":"content_filter"}}'
NO_MODEL = b'{"error":{"message":"The model `first` does not exist","code":"model_not_found"}}'
UNPAID = b'{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}'


async def fault_asked(stage: Stage) -> Fault:
    ask = await stage.until_ask("api_req_failed")
    assert ask.fault is not None
    return ask.fault


def scheduled(stage: Stage) -> list[int]:
    return [event.delay_ms for event in stage.events_of(RetryScheduled)]


@pytest.mark.parametrize("code", [408, 409, 425, 429, 500, 502, 503, 504, 520, 529])
def test_a_passing_failure_is_retried_and_the_answer_comes_once(workspace: Path, code: int) -> None:
    """Statuses such as 429, 500 and 529."""

    async def story(stage: Stage, server: RawServer) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert [reply.reply.text for reply in stage.events_of(TurnReply)] == [ANSWER]
        assert [event.error_status for event in stage.events_of(RetryScheduled)] == [code]
        assert len(server.requests) == 2

    live(workspace, in_turn(status(code, b"down")), story)


@pytest.mark.parametrize(
    ("code", "body", "kind", "advice"),
    [
        (400, b'{"error":{"message":"bad"}}', "invalid_request", "options of the provider profile"),
        (401, b"no", "authentication_failed", "apiKey"),
        (402, b"pay", "billing_error", "balance"),
        (403, b"no", "authentication_failed", "apiKey"),
        (404, NO_MODEL, "model_not_found", "--model"),
        (404, b"Not Found", "invalid_request", "baseURL"),
        (429, UNPAID, "billing_error", "balance"),
        (400, TOO_LONG, "context_too_long", "larger context window"),
        (413, b"", "context_too_long", "larger context window"),
        (400, FILTERED, "content_filter", "Rephrase"),
    ],
)
def test_a_refusal_is_asked_about_at_once_and_never_looped_on(
    workspace: Path, code: int, body: bytes, kind: str, advice: str
) -> None:
    """Statuses such as 400 and 401, and a context that is too long."""

    async def story(stage: Stage, server: RawServer) -> None:
        await stage.start()
        fault = await fault_asked(stage)
        assert (fault.kind, fault.retryable, fault.status) == (kind, False, code)
        assert advice in fault.message
        assert scheduled(stage) == [] and len(server.requests) == 1

    live(workspace, in_turn(status(code, body), then=status(code, body)), story)


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("retry-after: 0", 0, 50),
        ("retry-after: 5", 5_000, 5_000),
        ("retry-after-ms: 2500", 2_500, 2_500),
        ("retry-after: 119.5", 119_500, 119_500),
        ("retry-after: next week", 0, 50),
    ],
)
def test_the_wait_is_what_the_server_asks_and_can_be_skipped(
    workspace: Path, header: str, least: int, most: int
) -> None:
    """With `Retry-After` in seconds."""

    async def story(stage: Stage, server: RawServer) -> None:
        await stage.start()
        await stage.until(lambda event: isinstance(event, RetryScheduled))
        (delay,) = scheduled(stage)
        assert least <= delay <= most
        if delay > 50:
            assert isinstance(await stage.submit(RetryNow()), Accepted)
        await stage.until_ask("completion_result")
        assert len(server.requests) == 2

    live(workspace, in_turn(status(429, b"slow down", header)), story)


def test_a_date_is_a_wait_too(workspace: Path) -> None:
    """`Retry-After` may be a date."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)

    async def story(stage: Stage, server: RawServer) -> None:
        await stage.start()
        await stage.until(lambda event: isinstance(event, RetryScheduled))
        (delay,) = scheduled(stage)
        assert 30_000 < delay <= 100_000
        await stage.submit(RetryNow())
        await stage.until_ask("completion_result")

    live(workspace, in_turn(status(503, b"back soon", f"retry-after: {date}")), story)


@pytest.mark.parametrize(
    ("header", "total_ms"),
    [("retry-after: 3600", 300_000), ("retry-after: 121", 300_000), ("retry-after: 5", 4_000)],
)
def test_a_server_that_asks_for_too_much_patience_is_not_waited_for(
    workspace: Path, header: str, total_ms: int
) -> None:
    """`Retry-After` is an hour, or more than remains of the time for all attempts."""

    async def story(stage: Stage, server: RawServer) -> None:
        await stage.start()
        fault = await fault_asked(stage)
        assert fault.kind == "rate_limit" and fault.retryable and scheduled(stage) == []
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")

    live(workspace, in_turn(status(429, b"", header)), story, retry={"baseMs": 1, "maxRetries": 3, "totalMs": total_ms})


def test_patience_ends_after_the_last_retry(workspace: Path) -> None:
    async def story(stage: Stage, server: RawServer) -> None:
        await stage.start()
        fault = await fault_asked(stage)
        assert fault.kind == "server_error" and fault.retryable
        assert len(scheduled(stage)) == 3 and len(server.requests) == 4

    live(workspace, in_turn(then=status(500, b"down")), story)


def test_waits_grow_up_to_their_cap(workspace: Path) -> None:
    async def story(stage: Stage, server: RawServer) -> None:
        await stage.start()
        await fault_asked(stage)
        delays = scheduled(stage)
        assert delays[0] <= 3 and delays[2] > delays[0] and max(delays) <= 24, delays

    live(workspace, in_turn(then=status(500)), story, retry={"baseMs": 2, "capMs": 20, "maxRetries": 6})


def test_a_wait_can_be_cancelled_and_the_session_goes_on(workspace: Path) -> None:
    async def story(stage: Stage, server: RawServer) -> None:
        await stage.start()
        await stage.until(lambda event: isinstance(event, RetryScheduled))
        assert isinstance(await stage.submit(CancelTask()), Accepted)
        await stage.until_ask("resume_task")
        assert len(server.requests) == 1
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")

    live(workspace, in_turn(status(429, b"", "retry-after: 100")), story)


@pytest.mark.parametrize("code", [503, 404])
def test_a_fallback_model_takes_over(workspace: Path, code: int) -> None:
    body = NO_MODEL if code == 404 else b"down"

    async def story(stage: Stage, server: RawServer) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        (reply,) = stage.events_of(TurnReply)
        assert reply.reply.model == "third"
        models = [
            name for sent in server.bodies for name in ("first", "second", "third") if f'"{name}"'.encode() in sent
        ]
        assert models == (
            ["first", "second", "third"] if code == 404 else ["first", "first", "second", "second", "third"]
        )

    failures = 2 if code == 404 else 4
    retry = {"baseMs": 1, "maxRetries": 1}
    answers = in_turn(*[status(code, body)] * failures)
    live(workspace, answers, story, retry=retry, fallback_models=("second", "third"))
