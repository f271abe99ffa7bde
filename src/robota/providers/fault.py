"""What can go wrong between us and a model."""

from enum import StrEnum


class FaultKind(StrEnum):
    """The value is also the `error` of a stream-json `api_retry` line."""

    AUTHENTICATION = "authentication_failed"
    BILLING = "billing_error"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    INVALID_REQUEST = "invalid_request"
    MODEL_NOT_FOUND = "model_not_found"
    CONTEXT_TOO_LONG = "context_too_long"
    CONTENT_FILTER = "content_filter"
    SERVER = "server_error"
    CONNECTION = "connection"
    STREAM_CUT = "stream_cut"
    EMPTY_REPLY = "empty_reply"
    REPLY_TOO_LONG = "reply_too_long"
    SCRIPT = "script"


# Faults of these kinds may be temporary.
RETRYABLE = frozenset(
    {
        FaultKind.RATE_LIMIT,
        FaultKind.OVERLOADED,
        FaultKind.SERVER,
        FaultKind.CONNECTION,
        FaultKind.STREAM_CUT,
        FaultKind.EMPTY_REPLY,
    }
)


class ProviderFault(Exception):
    """A request failed. The message tells the user what happened and what to do.

    `reason` is the bare cause, for messages that supply the rest. `most_retries` lowers the usual number of retries if
    they are unlikely to help.
    """

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        *,
        reason: str = "",
        status: int | None = None,
        retry_after_s: float | None = None,
        most_retries: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.reason = reason
        self.status = status
        self.retry_after_s = retry_after_s
        self.most_retries = most_retries

    def add_advice(self, advice: str) -> None:
        """Say what else the user can do."""
        self.message = f"{self.message} {advice}"
        self.args = (self.message,)

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in RETRYABLE
