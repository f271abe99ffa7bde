"""Copy bytes between two connections, at the speed of the slower one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import msgspec

PIECE_BYTES: Final = 64 * 1024
CLOSE_S: Final = 2.0


class EgressLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for the network use of a session's commands.

    `connections` is the total for all commands: each uses file descriptors that Robota needs itself.
    """

    connections: int = 64
    head_bytes: int = 64 * 1024
    head_s: float = 15.0
    connect_s: float = 30.0
    idle_s: float = 600.0


class StreamPair(msgspec.Struct, frozen=True, kw_only=True):
    """The reader and the writer of one connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        """Write, and wait until the buffer is drained."""
        self.writer.write(data)
        await self.writer.drain()

    def end_sending(self) -> None:
        """Close our direction: the other end reads end of stream, and can still answer."""
        if self.writer.can_write_eof() and not self.writer.is_closing():
            self.writer.write_eof()

    async def close(self) -> None:
        """Close when everything has been sent, or after `CLOSE_S`."""
        self.writer.close()
        try:
            async with asyncio.timeout(CLOSE_S):
                await self.writer.wait_closed()
        except OSError:
            pass
        finally:
            self.abort()

    def abort(self) -> None:
        """Close at once, and discard what was not sent yet."""
        self.writer.transport.abort()


async def copy(source: StreamPair, sink: StreamPair, on_bytes: Callable[[], None]) -> None:
    """Copy until the source ends. `on_bytes` is called for every piece."""
    while data := await source.reader.read(PIECE_BYTES):
        on_bytes()
        await sink.send(data)
    sink.end_sending()


async def tunnel(one: StreamPair, other: StreamPair, idle_s: float) -> None:
    """Copy in both directions until both have ended, one fails, or no data arrives for `idle_s`."""
    try:
        async with idle_timeout(idle_s) as on_activity, asyncio.TaskGroup() as directions:
            directions.create_task(copy(one, other, on_activity))
            directions.create_task(copy(other, one, on_activity))
    except* OSError:
        pass  # one side has failed, or there was a timeout: the caller closes both


@asynccontextmanager
async def idle_timeout(idle_s: float) -> AsyncIterator[Callable[[], None]]:
    """Raises `TimeoutError` when the yielded function was not called for `idle_s`."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(idle_s) as timeout:

        def on_activity() -> None:
            if not timeout.expired():
                timeout.reschedule(loop.time() + idle_s)

        yield on_activity
