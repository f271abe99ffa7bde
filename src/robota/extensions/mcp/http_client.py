"""The HTTP client for MCP servers that run elsewhere: the headers of the entry, and answers of bounded length."""

from collections.abc import AsyncIterator, Mapping
from typing import Final

import httpx2

TIMEOUT_S: Final = 30.0
# A server may think for as long as the call itself is given time, which is watched elsewhere.
SILENCE_S: Final = 3600.0
UNAUTHORIZED: Final = 401
ENDLESS: Final = "text/event-stream"  # bounded event by event, by who reads it


def http_client(headers: Mapping[str, str], most_bytes: int, auth: httpx2.Auth | None = None) -> httpx2.AsyncClient:
    """For one server. Redirects are followed only within its own origin, by the SDK."""
    timeout = httpx2.Timeout(TIMEOUT_S, read=SILENCE_S)
    hooks = {"response": [lambda response: _bound(response, most_bytes, is_signed_in=auth is not None)]}
    sent_headers = {"accept-encoding": "identity", **headers}
    return httpx2.AsyncClient(headers=sent_headers, timeout=timeout, event_hooks=hooks, auth=auth)


class UnreadableAnswer(httpx2.TransportError):
    """The server sent more than anybody will read, or packed it so that nobody can tell."""


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, most_bytes: int) -> None:
        self._stream = stream
        self._left = most_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._left -= len(piece)
            if self._left < 0:
                raise UnreadableAnswer("the answer is longer than it may be")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class NotSignedIn(httpx2.TransportError):
    """The server wants to know who we are, and nobody signed in."""


async def _bound(response: httpx2.Response, most_bytes: int, *, is_signed_in: bool) -> None:
    if response.status_code == UNAUTHORIZED and not is_signed_in:
        raise NotSignedIn("it wants you to sign in")
    if response.headers.get("content-encoding", "identity") != "identity":
        raise UnreadableAnswer("the answer is compressed, although that was not asked for")
    if isinstance(response.stream, httpx2.AsyncByteStream) and ENDLESS not in response.headers.get("content-type", ""):
        response.stream = _Bounded(response.stream, most_bytes)
