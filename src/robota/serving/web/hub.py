"""`SessionHub`: one session for any number of pages. It is followed and rendered once, and each page gets the bytes."""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Final

from robota.clients.web.page_data import Change, PanelChanged, SessionOver, Whole
from robota.clients.web.page_feed import PageFeed
from robota.protocol.codec import encode
from robota.protocol.port import SessionWindow

# Text that grows is sent at once, and then this often, which is a frame of most screens; slower, if rendering it takes
# longer.
GROWN_EVERY_S: Final = 0.016
RENDERING_SHARE: Final = 4
# What a page that lost its connection can catch up on; after more it gets everything.
REPLAYED: Final = 4_000
REPLAYED_BYTES: Final = 8 * 1024 * 1024
UNREAD_BYTES: Final = 8 * 1024 * 1024
BEAT_S: Final = 10.0
# The panels of which lists of sessions show something.
LISTED: Final = frozenset({"session", "asks", "ended"})
BEAT: Final = b'data: {"t":"beat"}\n\n'


class PageReader:
    """One page that follows a session."""

    def __init__(self, backlog: list[bytes]) -> None:
        self._unread = deque(backlog)
        self._size = sum(map(len, backlog))
        self._changed = asyncio.Event()
        self._is_over = False

    def put(self, event: bytes) -> None:
        """More to read. A page that does not read is cut off, and may connect again."""
        if self._is_over:
            return
        self._unread.append(event)
        self._size += len(event)
        if self._size > UNREAD_BYTES:
            self._unread.clear()
            self._is_over = True
        self._changed.set()

    def end(self) -> None:
        """Nothing more will come."""
        self._is_over = True
        self._changed.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            if self._unread:
                piece = b"".join(self._unread)
                self._unread.clear()
                self._size = 0
                yield piece
                continue
            if self._is_over:
                return
            self._changed.clear()
            try:
                async with asyncio.timeout(BEAT_S):
                    await self._changed.wait()
            except TimeoutError:
                yield BEAT


class SessionHub:
    """Follows a session until it ends. Ids of events are `epoch:number`; another epoch means that nothing is kept."""

    def __init__(self, window: SessionWindow, on_listed: Callable[[], None]) -> None:
        """`on_listed` is called when something happened that lists of sessions show."""
        self.window = window
        self._on_listed = on_listed
        self.feed = PageFeed()
        self.readers: set[PageReader] = set()
        self._epoch = secrets.token_hex(6)
        self._number = 0
        self._kept: deque[tuple[int, bytes]] = deque()
        self._kept_bytes = 0
        self._is_ready = asyncio.Event()
        self._growing: asyncio.Handle | None = None
        self._following = asyncio.create_task(self._follow())

    @property
    def is_over(self) -> bool:
        """Whether the session has ended."""
        return self._following.done()

    async def read(self, last_id: str) -> PageReader:
        """A reader that continues after `last_id`, or begins with everything."""
        await self._is_ready.wait()
        reader = PageReader(self._since(last_id))
        self.readers.add(reader)
        if self.is_over:
            reader.end()
        return reader

    def leave(self, reader: PageReader) -> None:
        """The page has gone."""
        self.readers.discard(reader)

    async def close(self) -> None:
        """Follow the session no more; it goes on."""
        self._following.cancel()
        with suppress(asyncio.CancelledError):
            await self._following
        await self.window.leave()

    def _since(self, last_id: str) -> list[bytes]:
        epoch, _, number = last_id.partition(":")
        oldest = self._kept[0][0] if self._kept else self._number + 1
        if epoch == self._epoch and number.isdecimal() and oldest - 1 <= int(number[:18]) <= self._number:
            after = int(number[:18])
            return [event for count, event in self._kept if count > after] or [BEAT]
        return [self._as_event(self.feed.whole())]

    async def _follow(self) -> None:
        try:
            async for event in self.window.session.events():
                for change in self.feed.take(event):
                    self._tell(change)
                self._is_ready.set()
                if self.feed.has_grown and self._growing is None:
                    self._growing = asyncio.get_running_loop().call_soon(self._tell_grown)
        finally:
            if self._growing is not None:
                self._growing.cancel()
            self._tell(self.feed.over())
            self._is_ready.set()
            for reader in self.readers:
                reader.end()

    def _tell_grown(self) -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        for change in self.feed.grown():
            self._tell(change)
        pause = max(GROWN_EVERY_S, (loop.time() - begun) * RENDERING_SHARE)
        self._growing = loop.call_later(pause, self._tell_rest)

    def _tell_rest(self) -> None:
        """After a pause: tell what came meanwhile, or wait for the next event."""
        self._growing = None
        if self.feed.has_grown:
            self._tell_grown()

    def _tell(self, change: Change) -> None:
        self._number += 1
        if (isinstance(change, PanelChanged) and change.name in LISTED) or isinstance(change, Whole | SessionOver):
            self._on_listed()
        if isinstance(change, Whole):  # what was before can no longer be continued
            self._kept.clear()
            self._kept_bytes = 0
        event = self._as_event(change)
        self._kept.append((self._number, event))
        self._kept_bytes += len(event)
        while len(self._kept) > REPLAYED or self._kept_bytes > REPLAYED_BYTES:
            self._kept_bytes -= len(self._kept.popleft()[1])
        for reader in self.readers:
            reader.put(event)

    def _as_event(self, change: Change) -> bytes:
        return b"id: %s:%d\ndata: %s\n\n" % (self._epoch.encode(), self._number, encode(change))
