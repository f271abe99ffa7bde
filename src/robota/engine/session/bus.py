"""How events reach clients: every subscriber has its own queue, and a slow one never slows the engine."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Final
from weakref import ref

import msgspec

from robota.protocol.codec import decode_event, encode
from robota.protocol.events import Event, PartialMessage, TextDelta
from robota.secrets.redaction import Redactor, StreamRedactor
from robota.text.surrogate_pairs import with_whole_characters

# Deltas of one row that nobody has read yet are joined up to this length, so that a slow reader costs little.
JOIN_LIMIT: Final = 4096


class Subscription(AsyncIterator[Event]):
    """The events for one client, in order. Nothing is dropped; unread deltas of one row are joined."""

    def __init__(self, *known: Event) -> None:
        self._events: deque[Event] = deque(known)
        self._ready = asyncio.Event()
        self._ready.set()
        self._closed = False

    def push(self, event: Event) -> None:
        if self._closed:
            return
        events = self._events
        joined = _joined(events[-1], event) if events else None
        if joined is None:
            events.append(event)
        else:
            events[-1] = joined
        self._ready.set()

    def close(self) -> None:
        """No more events after those that are queued."""
        self._closed = True
        self._ready.set()

    async def aclose(self) -> None:
        """The client goes away: what it did not read is dropped, and nothing more is collected for it."""
        self.close()
        self._events.clear()

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
    """Fans events out to the subscriptions, with secrets covered in what is sent.

    Deltas are sent as they are: a secret that comes in pieces can only be covered by who knows what came before, which
    is what `stream_redactor` is for.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._subscriptions: list[ref[Subscription]] = []
        self.redactor = redactor

    def stream_redactor(self) -> StreamRedactor:
        """For the deltas of one text."""
        return self.redactor.stream()

    def subscribe(self, *known: Event) -> Subscription:
        """The events from now on, and before them what is known already."""
        subscription = Subscription(*map(self._covered, known))
        self._subscriptions.append(ref(subscription))
        return subscription

    def emit(self, event: Event, *, is_clean: bool = False) -> None:
        """Send an event to every client. One that is known to hold no secret is not searched again."""
        subscriptions = self._listening()
        if not subscriptions:
            return
        if not is_clean and not isinstance(event, TextDelta | PartialMessage):
            event = self._covered(event)
        for subscription in subscriptions:
            subscription.push(event)

    def close(self) -> None:
        """End every subscription after what is already queued."""
        for subscription in self._listening():
            subscription.close()
        self._subscriptions.clear()

    def _listening(self) -> list[Subscription]:
        """The clients that are still there. One that dropped its iterator has gone, whether it said so or not."""
        found = [subscription for reference in self._subscriptions if (subscription := reference()) is not None]
        if len(found) < len(self._subscriptions):
            self._subscriptions = [ref(subscription) for subscription in found]
        return found

    def _covered(self, event: Event) -> Event:
        try:
            line = encode(event)
        except UnicodeEncodeError:
            line = msgspec.json.encode(with_whole_characters(msgspec.to_builtins(event)))
        covered = self.redactor(line)
        return event if covered is line else decode_event(covered)


def _joined(last: Event, new: Event) -> Event | None:
    """Both as one, if they are deltas of the same row and not too long already."""
    if not isinstance(new, TextDelta | PartialMessage) or type(last) is not type(new):
        return None
    assert isinstance(last, TextDelta | PartialMessage)
    if last.ts != new.ts or len(last.delta) > JOIN_LIMIT:
        return None
    return type(new)(task_id=new.task_id, ts=new.ts, delta=last.delta + new.delta)
