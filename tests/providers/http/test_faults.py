"""Which status means what, and what a user is told."""

import pytest

from robota.providers.fault import FaultKind
from robota.providers.http.faults import fault_of_error_object, fault_of_status, server_message

NOW = 1_700_000_000.0
TOO_LONG = "This model's maximum context length is 8192 tokens, however you requested 9000."


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, b'{"error":{"message":"bad field"}}', FaultKind.INVALID_REQUEST),
        (400, f'{{"error":{{"message":"{TOO_LONG}"}}}}'.encode(), FaultKind.CONTEXT_TOO_LONG),
        (400, b'{"error":{"message":"no","code":"context_length_exceeded"}}', FaultKind.CONTEXT_TOO_LONG),
        (
            400,
            b'{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}',
            FaultKind.CONTEXT_TOO_LONG,
        ),
        (400, b"the request exceeds the available context size, try increasing it", FaultKind.CONTEXT_TOO_LONG),
        (400, b'{"error":{"code":"content_filter","message":"no"}}', FaultKind.CONTENT_FILTER),
        (413, b"", FaultKind.CONTEXT_TOO_LONG),
        (413, b"<html>413 Request Entity Too Large</html>", FaultKind.CONTEXT_TOO_LONG),
        (413, b"too many tokens", FaultKind.CONTEXT_TOO_LONG),
        (422, b'{"detail":[{"msg":"field required"}]}', FaultKind.INVALID_REQUEST),
        (401, b"", FaultKind.AUTHENTICATION),
        (403, b"", FaultKind.AUTHENTICATION),
        (402, b"", FaultKind.BILLING),
        (404, b'{"error":{"message":"The model x does not exist"}}', FaultKind.MODEL_NOT_FOUND),
        (404, b"<html>Not Found</html>", FaultKind.INVALID_REQUEST),
        (408, b"", FaultKind.SERVER),
        (409, b"", FaultKind.SERVER),
        (425, b"", FaultKind.SERVER),
        (429, b"", FaultKind.RATE_LIMIT),
        (429, b'{"error":{"code":"insufficient_quota","message":"pay"}}', FaultKind.BILLING),
        (429, b"Quota exceeded, check your plan and billing details", FaultKind.RATE_LIMIT),
        (403, b'{"error":{"type":"billing_hard_limit_reached"}}', FaultKind.BILLING),
        (500, b"\xff\xfe", FaultKind.SERVER),
        (502, b"", FaultKind.SERVER),
        (503, b"", FaultKind.OVERLOADED),
        (529, b"", FaultKind.OVERLOADED),
        (301, b"", FaultKind.INVALID_REQUEST),
        (418, b"", FaultKind.INVALID_REQUEST),
    ],
)
def test_status_to_kind(status: int, body: bytes, kind: FaultKind) -> None:
    fault = fault_of_status(status, {}, body, NOW)
    assert fault.kind is kind
    assert fault.status == status
    assert f"HTTP {status}" in fault.message


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "0"}, b"", 0.0),
        ({"retry-after": "5"}, b"", 5.0),
        ({"retry-after": "3600"}, b"", 3600.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, b"", 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:00:00 GMT"}, b"", 0.0),
        ({"retry-after": "9", "retry-after-ms": "250"}, b"", 0.25),
        ({"retry-after": "soon"}, b"", None),
        ({"retry-after": "-1"}, b"", None),
        ({"retry-after": "nan"}, b"", None),
        ({}, b'{"details":[{"retryDelay":"7s"}]}', 7.0),
        ({}, b"", None),
    ],
)
def test_how_long_the_server_asks_us_to_wait(headers: dict[str, str], body: bytes, seconds: float | None) -> None:
    assert fault_of_status(429, headers, body, NOW).retry_after_s == seconds


def test_the_servers_own_words_are_shown_on_one_bounded_line() -> None:
    assert server_message('{"error":{"message":"two\\nlines"}}') == "two lines"
    assert server_message("plain words") == "plain words"
    assert len(server_message("x" * 10_000)) == 501
    assert server_message("[" * 100_000).startswith("[")


def test_a_redirect_says_where_to() -> None:
    assert "https://api.example/v1" in fault_of_status(308, {"location": "https://api.example/v1"}, b"", NOW).message


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "boom", "code": 502}, FaultKind.SERVER),
        ({"message": "boom", "code": "429"}, FaultKind.RATE_LIMIT),
        ({"message": "x", "type": "rate_limit_error"}, FaultKind.RATE_LIMIT),
        ({"message": "x", "type": "overloaded_error"}, FaultKind.OVERLOADED),
        ({"message": "x", "type": "invalid_request_error"}, FaultKind.INVALID_REQUEST),
        ({"message": TOO_LONG}, FaultKind.CONTEXT_TOO_LONG),
        ("something broke", FaultKind.SERVER),
    ],
)
def test_an_error_inside_a_reply(error: object, kind: FaultKind) -> None:
    assert fault_of_error_object(error).kind is kind
