"""A command that somebody waits for."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from robota.workspace.output.buffer import OutputKeeper
from robota.workspace.output.pacer import OutputPacer
from robota.workspace.process.child import Child, Launch
from robota.workspace.process.ending import Ending, StopReason, ending_of
from robota.workspace.process.watchdog import CommandLimits, Watchdog


class CommandOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended and what it printed.

    `output_head` is all of a short output; of a long one the middle is in neither half, and `output_file` holds its
    first 256 MiB (the caller deletes it), if the disk had room. `refused` has a sentence for each host that the sandbox
    kept it from.
    """

    ending: Ending
    output_head: str
    output_tail: str
    total_bytes: int
    total_characters: int
    output_file: Path | None = None
    refused: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int | None:
        return self.ending.exit_code


class Foreground:
    """One run. It must be ended by `outcome`, `hand_over` or `give_up`."""

    def __init__(
        self, launch: Launch, spool_prefix: str, limits: CommandLimits, on_output: Callable[[str], None]
    ) -> None:
        self.keeper = OutputKeeper(spool_prefix)
        self._pacer = OutputPacer(on_output)
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[StopReason | None] = self._loop.create_future()
        self._started = self._loop.time()
        self._stopped_for: StopReason | None = None
        self.child = Child(launch, lambda data: self._pacer.add(self.keeper.add(data)), lambda: self.end(None))
        self._watchdog = Watchdog(self.child.tree, lambda: self.keeper.total_bytes, limits, self.end)

    @property
    def age_s(self) -> float:
        return self._loop.time() - self._started

    def end(self, reason: StopReason | None) -> None:
        """It has ended, or has to. The first word counts."""
        if not self._over.done():
            self._over.set_result(reason)

    async def is_over(self, timeout_s: float | None) -> bool:
        """Wait; False if it still runs after that time."""
        await asyncio.wait((self._over,), timeout=timeout_s)
        return self._over.done()

    async def outcome(self) -> CommandOutcome:
        """Make it end if it must, and collect what is left."""
        self._stopped_for = await self._over
        if self._stopped_for is None:
            await self.child.drain()
        else:
            await self.child.stop()
        return self._collected()

    def hand_over(self) -> tuple[Child, OutputKeeper]:
        """Somebody else looks after it from now on."""
        self._watchdog.dismiss()
        self._pacer.finish()
        return self.child, self.keeper

    async def give_up(self) -> None:
        """End it with everything it started; nobody wants to know how."""
        try:
            if not self.child.exited.is_set():
                await self.child.stop()
        finally:
            self._finish()
            self.keeper.discard()

    def _collected(self) -> CommandOutcome:
        left_behind = self._finish()
        code, text = self.child.return_code, self.keeper.text
        assert code is not None
        return CommandOutcome(
            ending=ending_of(code, self._stopped_for, left_behind=left_behind),
            output_head=text.head,
            output_tail=text.tail,
            total_bytes=self.keeper.total_bytes,
            total_characters=text.total,
            output_file=self.keeper.spool,
            refused=self.child.refused,
        )

    def _finish(self) -> bool:
        self._watchdog.dismiss()
        left_behind = self.child.finish()
        self._pacer.add(self.keeper.finish())
        self._pacer.finish()
        return left_behind
