"""A command in the foreground: the caller waits for its outcome."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from robota.workspace.output.capture import OutputCapture, OutputPacer
from robota.workspace.process.command_process import CommandLaunch, CommandProcess, ending_of
from robota.workspace.process.ending import TIME_LIMITS, Ending, StopReason
from robota.workspace.process.watchdog import MAX_STEP_S, CommandLimits, Watchdog


class CommandOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended and what it printed.

    A short output is completely in `output_head`. Of a long one, `output_head` and `output_tail` omit the middle, and
    `output_file` has the first 256 MiB if the disk had room; the caller deletes it. `refused_hosts` has a sentence for
    each host that the sandbox blocked, `left_out` one for each change to git's data that was not written back.
    `started` is the number of commands of a chain that were started, if it was traced. `was_not_run`: the sandbox did
    not start the command.
    """

    ending: Ending
    output_head: str
    output_tail: str
    total_bytes: int
    total_characters: int
    output_file: Path | None = None
    refused_hosts: tuple[str, ...] = ()
    missed_places: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    started: int | None = None
    was_not_run: bool = False

    @property
    def exit_code(self) -> int | None:
        """The exit code; None if a signal ended it."""
        return self.ending.exit_code


class ForegroundProcess:
    """One run of a command. The caller must call `outcome`, `hand_over` or `give_up`."""

    def __init__(
        self, launch: CommandLaunch, spool_prefix: str, limits: CommandLimits, on_output: Callable[[str], None]
    ) -> None:
        self.capture = OutputCapture(spool_prefix)
        self._trace = launch.trace
        self._pacer = OutputPacer(on_output)
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[StopReason | None] = self._loop.create_future()
        self._moved: asyncio.Future[None] | None = None  # where it may go on in the background
        self._started = self._loop.time()
        self._stopped_for: StopReason | None = None
        self.child = CommandProcess(
            launch, lambda data: self._pacer.add(self.capture.add(data)), lambda: self.end(None)
        )
        limits = msgspec.structs.replace(limits, growth=self.child.growth)
        self._watchdog = Watchdog(self.child.tree, lambda: self.capture.total_bytes, limits, self.end)

    @property
    def age_s(self) -> float:
        """Seconds since it was started."""
        return self._loop.time() - self._started

    def end(self, reason: StopReason | None) -> None:
        """Record that it has ended by itself (None), or must be stopped for a reason. Only the first call counts.

        A command that has already ended did not time out: Robota itself may have been suspended (Ctrl+Z).
        """
        if not self._over.done():
            self._over.set_result(None if reason in TIME_LIMITS and self.child.has_ended() else reason)

    def time_out(self) -> None:
        """Stop it because of its time limit."""
        self.end(StopReason.TIME_OUT)

    def abort(self) -> None:
        """Stop it because the user asked to."""
        self.end(StopReason.ABORTED)

    def move(self) -> bool:
        """Move it to the background, as the user wants; False if its caller waits for its end."""
        if self._moved is None or self._over.done():
            return False
        if not self._moved.done():
            self._moved.set_result(None)
        return True

    @property
    def is_moved(self) -> bool:
        """Whether the user wants to move it to the background."""
        return self._moved is not None and self._moved.done()

    async def is_over_or_moved(self, timeout_s: float) -> bool:
        """Like `is_over`, but also False as soon as `move` is called."""
        self._moved = self._loop.create_future()
        return await self.is_over(timeout_s)

    async def is_over(self, timeout_s: float | None) -> bool:
        """Wait for its end; False if it still runs after `timeout_s`. Time while Robota is suspended does not count."""
        left_s = timeout_s
        awaited = (self._over,) if self._moved is None else (self._over, self._moved)
        while (left_s is None or left_s > 0) and not self.is_moved:
            step_s = None if left_s is None else min(left_s, MAX_STEP_S)
            await asyncio.wait(awaited, timeout=step_s, return_when=asyncio.FIRST_COMPLETED)
            if self._over.done():
                return True
            left_s = None if left_s is None else left_s - (step_s or 0)
        if self.child.has_ended():
            self.end(None)
        return self._over.done()

    async def outcome(self) -> CommandOutcome:
        """Wait for its end, stopping it if required, and collect the remaining output."""
        self._stopped_for = await self._over
        if self._stopped_for is None:
            await self.child.drain()
        else:
            await self.child.stop()
        return self._collected(await self.child.write_back())

    def hand_over(self) -> tuple[CommandProcess, OutputCapture]:
        """Pass the running command and its output to a new owner. This object must not be used afterwards."""
        self._watchdog.stop()
        self._pacer.finish()
        if self._trace is not None:
            self._trace.close()
        return self.child, self.capture

    async def give_up(self) -> None:
        """Stop it with all its descendants, and discard its output."""
        try:
            if not self.child.exited.is_set():
                await self.child.stop()
        finally:
            self._finish()
            self.capture.discard()

    def _collected(self, left_out: tuple[str, ...]) -> CommandOutcome:
        started = self._trace.started() if self._trace is not None else None
        # If it was stopped before it began, it must not be started again.
        was_not_run = self._stopped_for is None and self.child.was_not_run
        left_behind = self._finish()
        code, text = self.child.return_code, self.capture.text
        assert code is not None
        return CommandOutcome(
            ending=ending_of(code, self._stopped_for, left_behind=left_behind),
            output_head=text.head,
            output_tail=text.tail,
            total_bytes=self.capture.total_bytes,
            total_characters=text.total,
            output_file=self.capture.spool,
            refused_hosts=self.child.refused_hosts,
            missed_places=self.child.missed_places(f"{text.head}\n{text.tail}") if code > 0 else (),
            left_out=left_out,
            started=started,
            was_not_run=was_not_run and code > 0,
        )

    def _finish(self) -> bool:
        self._watchdog.stop()
        if self._trace is not None:
            self._trace.close()
        left_behind = self.child.finish()
        self._pacer.add(self.capture.finish())
        self._pacer.finish()
        return left_behind
