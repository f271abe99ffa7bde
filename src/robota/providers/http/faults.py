"""Turn a response other than 200 into a `ProviderFault` with advice for the user."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from robota.providers.fault import FaultKind, ProviderFault
from robota.text.counted import duration_in_words

SERVER_MESSAGE_LIMIT: Final = 500
MAX_WAIT_S: Final = 30 * 24 * 3600.0
NAMED_WAIT_S: Final = 60.0

# Compiled when they are first needed, which in most sessions is never.
CONTEXT_TOO_LONG: Final = (
    r"(?is)context.?(length|window|size)"
    r"|maximum context"
    r"|tokens? exceed"
    r"|too many tokens"
    r"|prompt is too long"
    r"|maximum\b.{0,80}\btokens"
    r"|context\b.{0,80}\btoo\b.{0,20}\blong"
    r"|exceed\w*\b.{0,80}\bcontext"
    r"|token\w*\b.{0,80}\blimit"
    r"|context_length_exceeded"
    r"|max_tokens_to_sample"
    r"|request_too_large"
)
# Not the word "billing" alone: a plain rate limit may advise to look at "plan and billing details".
UNPAID: Final = r"(?i)insufficient_quota|insufficient.{0,10}(balance|credit|funds)|billing_|credit balance is too low"
# Some servers answer a wrong key with 400.
BAD_KEY: Final = r"(?i)api.?key not valid|api_key_invalid|(invalid|incorrect).api.key"
# The requested reply length is too large, which a shorter conversation does not change.
REPLY_LIMIT: Final = r"(?i)number of output tokens"
FILTERED: Final = r"(?i)content_filter|content_policy|content management policy"
NO_MODEL: Final = r"(?i)model"
GOOGLE_RETRY_DELAY: Final = r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"'

KIND_OF_STATUS: Final = {
    401: FaultKind.AUTHENTICATION,
    402: FaultKind.BILLING,
    403: FaultKind.AUTHENTICATION,
    408: FaultKind.SERVER,
    409: FaultKind.SERVER,
    425: FaultKind.SERVER,
    429: FaultKind.RATE_LIMIT,
    503: FaultKind.OVERLOADED,
    529: FaultKind.OVERLOADED,
}

HAPPENED: Final = {
    FaultKind.AUTHENTICATION: "The model server refused the API key",
    FaultKind.BILLING: "The model server requires payment",
    FaultKind.RATE_LIMIT: "The model server received too many requests",
    FaultKind.OVERLOADED: "The model server is overloaded",
    FaultKind.INVALID_REQUEST: "The model server rejected the request",
    FaultKind.MODEL_NOT_FOUND: "The model server does not know the model",
    FaultKind.CONTEXT_TOO_LONG: "The conversation is too long for the model",
    FaultKind.CONTENT_FILTER: "The model server's content filter refused the request",
    FaultKind.SERVER: "The model server failed",
}

ADVICE: Final = {
    FaultKind.AUTHENTICATION: "To store another key: robota login PROFILE. The key is in the apiKey of the provider "
    "profile, or in the environment variable it names.",
    FaultKind.BILLING: "Check the balance and the plan of the account, or use another provider profile.",
    FaultKind.RATE_LIMIT: "Wait and retry.",
    FaultKind.OVERLOADED: "Wait and retry.",
    FaultKind.INVALID_REQUEST: "Check the baseURL, the model and the options of the provider profile.",
    FaultKind.MODEL_NOT_FOUND: "Check the model of the provider profile, or give another with --model.",
    FaultKind.CONTEXT_TOO_LONG: "Shorten the conversation, or use a model with a larger context window.",
    FaultKind.CONTENT_FILTER: "Rephrase the request, or use another model.",
    FaultKind.SERVER: "Retry; if it keeps failing, check the server's log or status page.",
}


def fault_of_status(status: int, headers: Mapping[str, str], body: bytes, now: float) -> ProviderFault:
    """The fault for a status that is not 200. `headers` must be lower case; `now` is in seconds since 1970."""
    text = body.decode("utf-8", "replace")
    kind = _kind(status, text)
    wait = retry_after_s(headers, text, now)
    redirected = 300 <= status < 400
    message = f"it redirects to {headers.get('location', 'nowhere')}" if redirected else server_message(text)
    return ProviderFault(
        kind,
        sentence(kind, message, status) + _wait_sentence(wait),
        reason=f"HTTP {status}" + (f": {message}" if message else ""),
        status=status,
        retry_after_s=wait,
    )


def fault_of_error_object(error: Any) -> ProviderFault:
    """The fault for an error inside a reply that had started normally."""
    text = msgspec.json.encode(error).decode("utf-8", "replace")
    status = _status_in(error)
    kind = _kind(status, text) if status is not None else _kind_by_words(text)
    wait = retry_after_s({}, text, now=0)
    message = sentence(kind, server_message(text), status) + _wait_sentence(wait)
    return ProviderFault(kind, message, status=status, retry_after_s=wait)


def _wait_sentence(wait_s: float | None) -> str:
    """A sentence about a long wait; a short one is shown as a countdown instead."""
    if wait_s is None or wait_s < NAMED_WAIT_S:
        return ""
    return f" The server asks to wait about {duration_in_words(int(wait_s * 1000))} before the next request."


def sentence(kind: FaultKind, message: str, status: int | None) -> str:
    """Format what happened, the server's message, and what to do."""
    happened = f"{HAPPENED[kind]} (HTTP {status})" if status else HAPPENED[kind]
    return f"{happened}: {message.rstrip('. ')}. {ADVICE[kind]}" if message else f"{happened}. {ADVICE[kind]}"


def server_message(text: str) -> str:
    """The server's message from an error body, on one line and of limited length."""
    try:
        message = _words_in(msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError):
        message = None
    shortened = " ".join((message or text).split())
    return shortened if len(shortened) <= SERVER_MESSAGE_LIMIT else shortened[:SERVER_MESSAGE_LIMIT] + "…"


def retry_after_s(headers: Mapping[str, str], text: str, now: float) -> float | None:
    """How long the server asks us to wait: `retry-after-ms`, `retry-after` (seconds or a date), or Google's detail."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return min(milliseconds / 1000, MAX_WAIT_S)
    value = headers.get("retry-after")
    if value is not None:
        seconds = _number(value)
        return min(seconds, MAX_WAIT_S) if seconds is not None else _seconds_until(value, now)
    detail = re.search(GOOGLE_RETRY_DELAY, text)
    return min(float(detail[1]), MAX_WAIT_S) if detail else None


def _kind(status: int, text: str) -> FaultKind:
    if status in (400, 413, 422):
        refusal = _kind_of_refusal(text)
        # A bare 413 means that the request is too large, and only a shorter conversation helps.
        is_bare = status == 413 and refusal is FaultKind.INVALID_REQUEST
        return FaultKind.CONTEXT_TOO_LONG if is_bare else refusal
    if status == 404:
        return FaultKind.MODEL_NOT_FOUND if re.search(NO_MODEL, server_message(text)) else FaultKind.INVALID_REQUEST
    if status in (403, 429) and re.search(UNPAID, text):
        return FaultKind.BILLING
    return KIND_OF_STATUS.get(status, FaultKind.SERVER if status >= 500 else FaultKind.INVALID_REQUEST)


def _kind_of_refusal(text: str) -> FaultKind:
    if re.search(UNPAID, text):
        return FaultKind.BILLING
    if re.search(BAD_KEY, text):
        return FaultKind.AUTHENTICATION
    if re.search(CONTEXT_TOO_LONG, text) and not re.search(REPLY_LIMIT, text):
        return FaultKind.CONTEXT_TOO_LONG
    return FaultKind.CONTENT_FILTER if re.search(FILTERED, text) else FaultKind.INVALID_REQUEST


def _kind_by_words(text: str) -> FaultKind:
    """The kind of an error without a status. Unknown errors may be temporary, so they are worth a retry."""
    if re.search(UNPAID, text):
        return FaultKind.BILLING
    if "rate_limit" in text:
        return FaultKind.RATE_LIMIT
    if "overloaded" in text:
        return FaultKind.OVERLOADED
    refusal = _kind_of_refusal(text)
    if refusal is FaultKind.INVALID_REQUEST and "invalid_request" not in text:
        return FaultKind.SERVER
    return refusal


def _status_in(error: Any) -> int | None:
    if not isinstance(error, dict):
        return None
    for key in ("code", "status", "status_code"):
        number = _number(str(error.get(key, "")))
        if number is not None and 400 <= number < 600:
            return int(number)
    return None


def _words_in(node: Any, depth: int = 0) -> str | None:
    if isinstance(node, str):
        return node
    if isinstance(node, list):
        node = next(iter(node), None)
    if not isinstance(node, dict) or depth > 4:
        return None
    for key in ("error", "message", "detail", "msg", "error_description"):
        words = _words_in(node[key], depth + 1) if key in node else None
        if words:
            return words
    return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _seconds_until(date: str, now: float) -> float | None:
    # Imported here because most servers send seconds, and the date parser is slow to import.
    from email.utils import parsedate_to_datetime

    try:
        return min(max(0.0, parsedate_to_datetime(date).timestamp() - now), MAX_WAIT_S)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
