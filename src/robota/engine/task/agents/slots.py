"""Limits how many agents work at once; the others wait in the order in which they were started."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Slots:
    """Every working agent has a slot. While it only waits for its own agents, it lends them the slot."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Lend the slot of this agent for a while, and be the first to get one afterwards."""
        self.give()
        try:
            yield
            await self.take(is_next=True)
        except BaseException:
            self._free -= 1  # the agent is being stopped, and returns its slot right away
            raise

    async def take(self, *, is_next: bool = False) -> None:
        """Wait for a slot; with `is_next`, ahead of all others."""
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.appendleft(turn) if is_next else self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn in self._waiting:
                self._waiting.remove(turn)
            elif not turn.cancelled():
                self.give()  # it has just been handed over
            raise

    def give(self) -> None:
        """Return a slot, or pass it to the first agent that waits."""
        self._free += 1
        while self._free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._free -= 1
