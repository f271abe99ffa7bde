"""The hubs of all sessions that pages show, and a stream of what the list of sessions shows."""

import asyncio
from collections.abc import Callable
from typing import Final

from robota.protocol.commands import Refused
from robota.protocol.port import HostPort, SessionWindow
from robota.protocol.slash_commands import SessionWanted
from robota.serving.web.hub import SessionHub

# A session of another process is left when no page has shown it for so long.
LEFT_AFTER_S: Final = 60.0


class Hubs:
    """Each session that is shown has one hub."""

    def __init__(self, host: HostPort, on_listed: Callable[[], None]) -> None:
        """`on_listed` is called when something happened that lists of sessions show."""
        self._host = host
        self._on_listed = on_listed
        self._hubs: dict[str, SessionHub] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()

    async def following(self, session_id: str) -> SessionHub | Refused:
        """The hub of a running session."""
        async with self._opening:
            hub = self._hubs.get(session_id)
            if hub is not None and not hub.is_over:
                return hub
            window = await self._host.attach(session_id)
            return window if isinstance(window, Refused) else self._hub(window)

    async def resumed(self, session_id: str) -> SessionHub | Refused:
        """The hub of a session that runs, or is continued now."""
        async with self._opening:
            hub = self._hubs.get(session_id)
            if hub is not None and not hub.is_over:
                return hub
            window = await self._host.resume(session_id)
            return window if isinstance(window, Refused) else self._hub(window)

    async def reopened(self, session_id: str, wanted: SessionWanted) -> SessionHub | Refused:
        """The hub of a session of this process that was closed and continues with other settings."""
        async with self._opening:
            window = await self._host.reopen(session_id, wanted)
            return window if isinstance(window, Refused) else self._hub(window)

    def begun(self, window: SessionWindow) -> SessionHub:
        """The hub of a session that was just started."""
        return self._hub(window)

    def leave_unread(self, session_id: str) -> None:
        """A page has left the session: if no other comes, it is followed no more."""
        asyncio.get_running_loop().call_later(LEFT_AFTER_S, self._leave_if_unread, session_id)

    async def close(self) -> None:
        """Follow no session any more."""
        await asyncio.gather(*(hub.close() for hub in self._hubs.values()), return_exceptions=True)

    def _hub(self, window: SessionWindow) -> SessionHub:
        hub = self._hubs[window.hello.session_id] = SessionHub(window, self._on_listed)
        return hub

    def _leave_if_unread(self, session_id: str) -> None:
        hub = self._hubs.get(session_id)
        if hub is not None and not hub.readers:
            del self._hubs[session_id]
            task = asyncio.create_task(hub.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
