"""Starts the MCP servers of a session, once, and collects their tools. The wait can be cancelled."""

import asyncio
from collections.abc import Callable, Sequence

from robota.engine.runtime.services import SessionServices
from robota.protocol.events import Event, Notice


class ToolGathering:
    """Servers start with the first task of the session. A cancelled start is tried again with the next task."""

    def __init__(self, services: SessionServices, emit: Callable[[Event], None]) -> None:
        self._services = services
        self._emit = emit
        self._lock = asyncio.Lock()
        self._running: asyncio.Task[Sequence[Notice]] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether servers are starting now."""
        return self._lock.locked()

    async def finish(self) -> bool:
        """Wait until all tools are known; False if the user cancelled the wait."""
        tools = self._services.tools
        if tools.is_complete:
            return True
        async with self._lock:
            window = self._services.model.info.context_window
            self._running = asyncio.create_task(tools.gather(window, self._emit))
            try:
                await asyncio.wait([self._running])
            finally:
                running, self._running = self._running, None
                running.cancel()
            if running.cancelled():
                return False
        for notice in running.result():
            self._emit(notice)
        return True

    def stop(self) -> bool:
        """Cancel the wait; False if nothing is starting."""
        if self._running is None:
            return False
        self._running.cancel()
        return True
