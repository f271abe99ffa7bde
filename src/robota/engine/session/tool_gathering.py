"""Starts whoever brings more tools to a session, once; a person may stop waiting for it."""

import asyncio
from collections.abc import Callable, Sequence

from robota.engine.runtime.services import SessionServices
from robota.protocol.events import Event, Notice


class ToolGathering:
    """The servers of a session start with its first task. If somebody stops that, it is tried again with the next."""

    def __init__(self, services: SessionServices, emit: Callable[[Event], None]) -> None:
        self._services = services
        self._emit = emit
        self._lock = asyncio.Lock()
        self._running: asyncio.Task[Sequence[Notice]] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether somebody waits for it now."""
        return self._lock.locked()

    async def finish(self) -> bool:
        """Have all tools there; False if a person did not want to wait for it any longer."""
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
        """Stop it; False if nothing is being started."""
        if self._running is None:
            return False
        self._running.cancel()
        return True
