"""The HTTP client for MCP servers, with the headers of their entry and a limit on the size of answers."""

from collections.abc import AsyncIterator, Mapping
from typing import Final

import httpx2

TIMEOUT_S: Final = 30.0
# Long, because the time limit of a call is enforced elsewhere.
READ_TIMEOUT_S: Final = 3600.0
UNAUTHORIZED: Final = 401
EVENT_STREAM: Final = "text/event-stream"  # its reader limits each event


def http_client(headers: Mapping[str, str], max_bytes: int, auth: httpx2.Auth | None = None) -> httpx2.AsyncClient:
    """A client for one server. The SDK follows redirects only within its origin."""
    timeout = httpx2.Timeout(TIMEOUT_S, read=READ_TIMEOUT_S)
    hooks = {"response": [lambda response: _check_response(response, max_bytes, is_signed_in=auth is not None)]}
    sent_headers = {"accept-encoding": "identity", **headers}
    return httpx2.AsyncClient(headers=sent_headers, timeout=timeout, event_hooks=hooks, auth=auth)


class UnreadableAnswer(httpx2.TransportError):
    """The answer is too long, or compressed, so that its size cannot be checked."""


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._stream = stream
        self._left = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._left -= len(piece)
            if self._left < 0:
                raise UnreadableAnswer("the answer is too long")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class NotSignedIn(httpx2.TransportError):
    """The server requires a sign-in and there is none."""


async def _check_response(response: httpx2.Response, max_bytes: int, *, is_signed_in: bool) -> None:
    if response.status_code == UNAUTHORIZED and not is_signed_in:
        raise NotSignedIn("it requires the user to sign in")
    if response.headers.get("content-encoding", "identity") != "identity":
        raise UnreadableAnswer("the answer is compressed, although that was not asked for")
    if isinstance(response.stream, httpx2.AsyncByteStream) and EVENT_STREAM not in response.headers.get(
        "content-type", ""
    ):
        response.stream = _LimitedStream(response.stream, max_bytes)
