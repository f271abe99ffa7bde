"""A retry in words for a person."""

from typing import Final

from robota.protocol.events import RetryScheduled

CAUSES: Final = {
    "rate_limit": "The model server wants fewer requests",
    "overloaded": "The model server is overloaded",
    "server_error": "The model server failed",
    "connection": "The model server cannot be reached",
    "stream_cut": "The answer broke off",
    "empty_reply": "The model gave an empty answer",
}


def retry_in_words(event: RetryScheduled) -> str:
    cause = CAUSES.get(event.error, event.error)
    status = f" (HTTP {event.error_status})" if event.error_status is not None else ""
    pause = f"{event.delay_ms / 1000:.1f} s"
    return f"{cause}{status}. Trying again in {pause} ({event.attempt} of {event.max_retries})."
