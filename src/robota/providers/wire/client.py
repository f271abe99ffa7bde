"""A provider made of a body builder and a reply reader: one server, one kept connection."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Protocol

from robota.config.profiles.profile import Profile
from robota.providers.chunks import Chunk, ModelRequest
from robota.providers.http.client import Http
from robota.providers.wire.json_reply import WireReply


class Body(Protocol):
    def encode(self, request: ModelRequest) -> bytes: ...


class WireClient:
    """`address` is where a request goes; `new_reply` makes a reader for each reply."""

    def __init__(
        self,
        profile: Profile,
        *,
        headers: Mapping[str, str],
        address: Callable[[ModelRequest], str],
        body: Body,
        new_reply: Callable[[ModelRequest], WireReply[Any]],
    ) -> None:
        self._headers = {**headers, "content-type": "application/json"}
        self._address = address
        self._body = body
        self._new_reply = new_reply
        self._http = Http(idle_timeout_s=profile.timeout, secrets=(profile.api_key or "",))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[Chunk], None]:
        reply = self._new_reply(request)
        answer = self._http.post_stream(self._address(request), self._headers, self._body.encode(request))
        try:
            async for data in answer:
                chunks = reply.feed(data)
                if reply.complete:
                    answer.leave()
                if chunks:
                    yield chunks
                if reply.fault is not None:
                    raise self._http.without_secrets(reply.fault)
                if reply.complete:
                    return
            if chunks := reply.finish():
                yield chunks
            if reply.fault is not None:
                raise self._http.without_secrets(reply.fault)
        finally:
            if not reply.complete:
                await answer.aclose()

    async def close(self) -> None:
        await self._http.close()
