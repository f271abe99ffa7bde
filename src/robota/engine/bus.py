"""How events reach clients: every subscriber has its own queue, and a slow one never slows the engine."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from robota.config.redaction import Redact
from robota.log.kinds import with_whole_characters
from robota.protocol.codec import decode_event, encode
from robota.protocol.events import Event, PartialMessage, TextDelta

# Deltas of one row that nobody has read yet are joined up to this length, so that a slow reader costs little.
JOIN_LIMIT: Final = 4096


class Subscription(AsyncIterator[Event]):
    """The events for one client, in order. Nothing is dropped; unread deltas of one row are joined."""

    def __init__(self, first: Event) -> None:
        self._events: deque[Event] = deque([first])
        self._ready = asyncio.Event()
        self._ready.set()
        self._closed = False

    def push(self, event: Event) -> None:
        events = self._events
        joined = _joined(events[-1], event) if events else None
        if joined is None:
            events.append(event)
        else:
            events[-1] = joined
        self._ready.set()

    def close(self) -> None:
        self._closed = True
        self._ready.set()

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            self._ready.clear()
            await self._ready.wait()
        return self._events.popleft()


class EventBus:
    """Fans events out to the subscriptions. `redact` covers secrets in the JSON of what is sent."""

    def __init__(self, redact: Redact = bytes) -> None:
        self._subscriptions: list[Subscription] = []
        self._redact = redact

    def subscribe(self, first: Event) -> Subscription:
        subscription = Subscription(self._covered(first))
        self._subscriptions.append(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
            subscription.close()

    def emit(self, event: Event) -> None:
        if not self._subscriptions:
            return
        event = self._covered(event)
        for subscription in self._subscriptions:
            subscription.push(event)

    def close(self) -> None:
        """End every subscription after what is already queued."""
        for subscription in self._subscriptions:
            subscription.close()
        self._subscriptions.clear()

    def _covered(self, event: Event) -> Event:
        try:
            line = encode(event)
        except UnicodeEncodeError:
            line = msgspec.json.encode(with_whole_characters(msgspec.to_builtins(event)))
        covered = self._redact(line)
        return event if covered is line else decode_event(covered)


def _joined(last: Event, new: Event) -> Event | None:
    """Both as one, if they are deltas of the same row and not too long already."""
    if not isinstance(new, TextDelta | PartialMessage) or type(last) is not type(new):
        return None
    assert isinstance(last, TextDelta | PartialMessage)
    if last.ts != new.ts or len(last.delta) > JOIN_LIMIT:
        return None
    return type(new)(task_id=new.task_id, ts=new.ts, delta=last.delta + new.delta)
