"""A response of server-sent events, to a browser that may be slow, asleep or gone."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from starlette.types import Message, Receive, Scope, Send

# A browser that takes nothing for so long has gone, and may connect again.
SENT_WITHIN_S: Final = 30.0
HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    """An ASGI response that sends what an iterator yields, until that ends or the browser leaves."""

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        left = asyncio.create_task(_until_left(receive))
        sending = asyncio.create_task(self._send(send))
        try:
            await asyncio.wait({left, sending}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            left.cancel()
            sending.cancel()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        async for event in self._events:
            await _within(send, {"type": "http.response.body", "body": event, "more_body": True})
        await _within(send, {"type": "http.response.body", "body": b"", "more_body": False})


async def _within(send: Send, message: Message) -> None:
    async with asyncio.timeout(SENT_WITHIN_S):
        await send(message)


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
