"""A planned retry in words."""

from typing import Final

from robota.protocol.events import RetryScheduled

RETRY_CAUSES: Final = {
    "rate_limit": "The model server limits the request rate",
    "overloaded": "The model server is overloaded",
    "server_error": "The model server failed",
    "connection": "The model server cannot be reached",
    "stream_cut": "The answer was cut off",
    "empty_reply": "The model returned an empty answer",
}


def retry_in_words(event: RetryScheduled, left_s: int | None = None) -> str:
    """Why and when a request is retried, and how often; `left_s` is the rest of the pause in seconds."""
    cause = RETRY_CAUSES.get(event.error, event.error)
    if event.error_status is not None:
        status = f" (HTTP {event.error_status})"
    else:
        status = f" ({event.reason})" if event.reason else ""
    pause = f"{event.delay_ms / 1000:.1f} s" if left_s is None else f"{left_s} s"
    return f"{cause}{status}. Retrying in {pause} ({event.attempt} of {event.max_retries})."
