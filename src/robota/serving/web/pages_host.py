"""What pages reach: the sessions of this user, the hubs of those that are shown, and the work on stored ones."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Final

from robota.clients.web.page_lists import asks_data, sessions_data
from robota.protocol.codec import encode
from robota.protocol.commands import Receipt, Refused
from robota.protocol.connection.known_session import SessionStart
from robota.protocol.port import HostPort, SessionWindow
from robota.serving.web.hub import BEAT
from robota.serving.web.hubs import Hubs
from robota.version import VERSION

# Sessions of other processes are looked at so often while a page shows the list; those of this one tell by themselves.
LOOKED_AT_EVERY_S: Final = 3.0
# The least pause between two looks, however much happens.
LOOK_PAUSE_S: Final = 0.25
BEATS_AFTER: Final = 3

# What is done with a stored session: the verb, its id, a name.
Manage = Callable[[str, str, str], Awaitable[Receipt]]


class Overview:
    """All sessions and what they ask, told when it changes."""

    def __init__(self, port: HostPort) -> None:
        self._port = port
        self._newest: tuple[int, bytes] = (0, b"")
        self._looking: asyncio.Task[None] | None = None
        self._looked = asyncio.Condition()
        self._readers = 0
        self._again = asyncio.Event()

    def look_again(self) -> None:
        """Something has changed."""
        self._again.set()

    async def events(self) -> AsyncGenerator[bytes, None]:
        """What changes, for one page."""
        self._readers += 1
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        told = 0
        try:
            while True:
                async with self._looked:
                    if self._newest[0] <= told:
                        await self._looked.wait()
                number, event = self._newest
                yield event if number > told else BEAT
                told = number
        finally:
            self._readers -= 1

    async def close(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()

    async def _look(self) -> None:
        beats = 0
        while self._readers:
            self._again.clear()
            sessions, asks = await asyncio.gather(self._port.sessions(), self._port.inbox())
            data = {"t": "overview", "sessions": sessions_data(sessions), "asks": asks_data(asks)}
            event = b"data: %s\n\n" % encode(data)
            beats = 0 if event != self._newest[1] else beats + 1
            async with self._looked:
                if not beats:
                    self._newest = (self._newest[0] + 1, event)
                if beats % BEATS_AFTER == 0:
                    self._looked.notify_all()
            await asyncio.sleep(LOOK_PAUSE_S)
            try:
                async with asyncio.timeout(LOOKED_AT_EVERY_S):
                    await self._again.wait()
            except TimeoutError:
                continue


class PagesHost:
    """Everything that the routes need."""

    def __init__(self, port: HostPort, manage: Manage, about: dict[str, Any]) -> None:
        self.port = port
        self.manage = manage
        self.overview = Overview(port)
        self.hubs = Hubs(port, self.overview.look_again)
        self._about = about

    def about(self) -> dict[str, Any]:
        """What a page shows of the server."""
        return {"version": VERSION, **self._about}

    async def open(self, start: SessionStart) -> SessionWindow | Refused:
        """Start a session."""
        window = await self.port.open(start)
        self.overview.look_again()
        return window

    async def close(self, session_id: str) -> Receipt:
        """Close a session that this process runs."""
        receipt = await self.port.close(session_id)
        self.overview.look_again()
        return receipt

    async def shut_down(self) -> None:
        """Leave all sessions."""
        await self.overview.close()
        await self.hubs.close()
