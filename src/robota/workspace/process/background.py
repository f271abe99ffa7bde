"""Background commands: started in the background, or moved there when they reach a time limit."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.output.capture import HeadAndTail, OutputCapture, plain_terminal_text
from robota.workspace.process.command_process import CommandProcess, ending_of
from robota.workspace.process.ending import TIME_LIMITS, Ending, StopReason
from robota.workspace.process.input_wait import all_wait_for_input
from robota.workspace.process.watchdog import CommandLimits, Watchdog

UNREAD_CHARACTERS: Final = 16 * 1024
SETTLE_S: Final = 0.1
SEND_S: Final = 5.0
RETRY_S: Final = 0.02
START_AGAIN: Final = "Start it again if it needs more."


class InputNotSent(Exception):
    """The input of a background process is closed, or it did not read all of the data. The message says which."""


class NewOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The output since the last call: complete in `head` if it is short, else its beginning and its end.

    `start` is the byte of the whole output at which it begins.
    """

    head: str
    tail: str
    total_characters: int
    start: int


class BackgroundProcess:
    """A command, its output, and how it ended. Its resources are released automatically when it ends."""

    def __init__(
        self, number: int, command: str, child: CommandProcess, capture: OutputCapture, limits: CommandLimits
    ) -> None:
        self.id = f"bg{number}"
        self.command = command
        self.ending: Ending | None = None
        self.was_moved = False  # by the user, before its time limit
        self.kept_as: str | None = None  # the name of the stored complete output
        self.is_read = False  # its end, by the user or the model
        self.is_put_away = False  # the user has seen how it ended
        self.on_end: Callable[[], None] = lambda: None
        self._child = child
        self._capture = capture
        self._unread = HeadAndTail(UNREAD_CHARACTERS)
        self._read_bytes = 0
        self._something = asyncio.Event()
        self.ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._over: asyncio.Future[StopReason | None] = self._loop.create_future()
        self._stopped_for: StopReason | None = None
        self._watchdog = Watchdog(child.tree, lambda: capture.total_bytes, limits, self._end)
        child.on_bytes, child.on_exit = self._take, lambda: self._end(None)
        if child.exited.is_set():
            self._end(None)
        self._life = asyncio.create_task(self._live())

    @property
    def age_s(self) -> float:
        """Seconds since it was started or moved to the background."""
        return self._loop.time() - self._started

    @property
    def pid(self) -> int:
        """Its first process."""
        return self._child.pid

    @property
    def has_input(self) -> bool:
        """Whether its input is open, so that `send` can write to it."""
        return self._child.input is not None

    @property
    def total_bytes(self) -> int:
        """How many bytes it has printed so far."""
        return self._capture.total_bytes

    @property
    def output(self) -> HeadAndTail:
        """The beginning and the end of its output."""
        return self._capture.text

    @property
    def last_text(self) -> str:
        """The end of the output, up to 64 Ki characters."""
        return (self._capture.text.head + self._capture.text.tail)[-64 * 1024 :]

    def waits_for_input(self) -> bool:
        """Whether all its processes are waiting for input."""
        if self.ending is not None:
            return False
        pipe = f"pipe:[{os.fstat(self._child.input).st_ino}]" if self._child.input is not None else None
        return all_wait_for_input(self._child.tree.members(), pipe)

    async def new_output(self, wait_s: float) -> NewOutput:
        """The output since the last call; waits up to `wait_s` for some, or for the end, if there is none yet."""
        if not self._unread.total and self.ending is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._something.wait(), wait_s)
        self.is_read = self.ending is not None
        if wait_s and self.ending is None:
            with suppress(TimeoutError):  # related output often arrives in several pieces
                await asyncio.wait_for(self.ended.wait(), SETTLE_S)
        self._something.clear()
        unread, self._unread = self._unread, HeadAndTail(UNREAD_CHARACTERS)
        start, self._read_bytes = self._read_bytes, self._capture.decoded_bytes
        head, tail = unread.head, unread.tail
        if len(head) + len(tail) == unread.total:
            head, tail = head + tail, ""
        left_out = unread.total - len(head) - len(tail)
        head, tail = plain_terminal_text(head), plain_terminal_text(tail)
        total = len(head) + left_out + len(tail)
        return NewOutput(head=head, tail=tail, total_characters=total, start=start)

    async def send(self, data: bytes, *, then_close: bool) -> None:
        """Write to its input. `InputNotSent` if that is closed or not read in time; says how much was read."""
        rest = memoryview(data)
        try:
            async with asyncio.timeout(SEND_S):
                while rest:
                    rest = rest[await self._write(rest) :]
        except TimeoutError as error:
            taken = len(data) - len(rest)
            message = f"{self.id} does not read its input: it took {taken:,} of {len(data):,} bytes in {SEND_S:g} s."
            raise InputNotSent(f"{message} Read its output to see what it is doing.") from error
        if then_close:
            self._child.close_input()

    async def stop(self) -> Ending:
        """Send TERM, then KILL, to all its processes, and wait for the end."""
        self._end(StopReason.REQUESTED)
        await self.ended.wait()
        assert self.ending is not None
        return self.ending

    def end_now(self) -> None:
        """Send KILL to all its processes without waiting, and discard the output."""
        self._finish()
        self._life.cancel()
        self._capture.discard()

    def output_file(self) -> Path | None:
        """The file with the output so far; None if it could not be written, as on a full disk."""
        return self._capture.to_file()

    def output_moved(self, name: str) -> None:
        """Note that the caller moved the output file and stores it under this name."""
        self.kept_as = name
        self._capture.spool = None

    async def _live(self) -> None:
        try:
            self._stopped_for = await self._over
            if self._stopped_for is None:
                await self._child.drain()
            else:
                await self._child.stop()
        finally:
            self._finish()

    def _end(self, reason: StopReason | None) -> None:
        if not self._over.done():
            self._over.set_result(None if reason in TIME_LIMITS and self._child.has_ended() else reason)

    def _finish(self) -> None:
        if self.ending is not None:
            return
        self._watchdog.stop()
        left_behind = self._child.finish()
        self._unread.add(self._capture.finish())
        assert self._child.return_code is not None
        self.ending = ending_of(self._child.return_code, self._stopped_for, left_behind=left_behind)
        self._something.set()
        self.ended.set()
        self.on_end()

    def _take(self, data: bytes) -> None:
        self._unread.add(self._capture.add(data))
        self._something.set()

    async def _write(self, data: memoryview) -> int:
        if self._child.input is None:
            raise InputNotSent(f"{self.id} has no open input, so nothing more can be sent to it. {START_AGAIN}")
        try:
            return os.write(self._child.input, data)
        except BlockingIOError:
            await asyncio.sleep(RETRY_S)  # the pipe is full; polled, because the process may end and close it meanwhile
            return 0
        except BrokenPipeError as error:
            message = f"{self.id} has closed its input, so nothing more can be sent to it. {START_AGAIN}"
            raise InputNotSent(message) from error
