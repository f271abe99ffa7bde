"""Passing bytes on between two connections, as fast as the slower one takes them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import msgspec

PIECE_BYTES: Final = 64 * 1024
CLOSE_S: Final = 2.0


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One connection, both ways."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def say_no_more(self) -> None:
        """The other end reads the end, and can still answer."""
        if self.writer.can_write_eof() and not self.writer.is_closing():
            self.writer.write_eof()

    async def close(self) -> None:
        """Hang up when everything said has gone out, or after a short while."""
        self.writer.close()
        try:
            async with asyncio.timeout(CLOSE_S):
                await self.writer.wait_closed()
        except OSError:
            pass
        finally:
            self.hang_up()

    def hang_up(self) -> None:
        self.writer.transport.abort()


async def pass_on(source: Line, sink: Line, on_bytes: Callable[[], None]) -> None:
    """Until the source says no more. `on_bytes` is called for every piece."""
    while data := await source.reader.read(PIECE_BYTES):
        on_bytes()
        await sink.say(data)
    sink.say_no_more()


async def tunnel(one: Line, other: Line, idle_s: float) -> None:
    """Both ways, until both have said no more, one has gone, or nothing has come for so long."""
    try:
        async with unless_silent(idle_s) as heard, asyncio.TaskGroup() as directions:
            directions.create_task(pass_on(one, other, heard))
            directions.create_task(pass_on(other, one, heard))
    except* OSError:
        pass  # one side has gone, or there was silence: the caller hangs up both


@asynccontextmanager
async def unless_silent(idle_s: float) -> AsyncIterator[Callable[[], None]]:
    """Ends with `TimeoutError` when the function it gives was not called for so long."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(idle_s) as silence:

        def heard() -> None:
            if not silence.expired():
                silence.reschedule(loop.time() + idle_s)

        yield heard
