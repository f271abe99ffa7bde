"""An engine that plays a script: the other end of the line for tests of clients."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from robota.protocol.commands import Accepted, Command, Receipt
from robota.protocol.events import Event


class Await(msgspec.Struct, frozen=True):
    """Wait until the client has sent a command of this kind."""

    command: type


class Do(msgspec.Struct, frozen=True):
    """Let something happen outside, such as a signal."""

    action: Callable[[], None]


Step = Event | Await | Do


class ScriptedSession:
    """Plays its steps to one reader, then goes quiet, as an engine does, or closes.

    `receipts` answers a kind of command with something else than yes.
    """

    def __init__(
        self, steps: Sequence[Step], *, closes: bool = False, receipts: dict[type, Receipt] | None = None
    ) -> None:
        self.commands: list[Command] = []
        self.closed_by_reader = False
        self._steps = steps
        self._closes = closes
        self._receipts = receipts or {}
        self._news = asyncio.Condition()

    async def submit(self, command: Command) -> Receipt:
        async with self._news:
            self.commands.append(command)
            self._news.notify_all()
        return self._receipts.get(type(command), Accepted())

    def events(self) -> AsyncIterator[Event]:
        # Kept, so that only a reader that closes it closes it, and not the garbage collector.
        self._playing = self._play()
        return self._playing

    async def _play(self) -> AsyncIterator[Event]:
        try:
            for step in self._steps:
                if isinstance(step, Await):
                    await self._sent(step.command)
                elif isinstance(step, Do):
                    step.action()
                    await asyncio.sleep(0)
                else:
                    yield step
            if not self._closes:
                await asyncio.Event().wait()
        finally:
            self.closed_by_reader = True

    async def _sent(self, kind: type) -> None:
        async with self._news:
            await self._news.wait_for(lambda: any(isinstance(command, kind) for command in self.commands))
