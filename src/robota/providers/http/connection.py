"""One connection to a server, plain or TLS: bytes out, bytes in, each within its time."""

import asyncio
import ssl
from typing import Final, cast

READ_AHEAD: Final = 256 * 1024
# How long one address of a server is tried alone before the next is tried beside it.
NEXT_ADDRESS_AFTER_S: Final = 0.25


async def connect(host: str, port: int, tls: ssl.SSLContext | None, timeout_s: float | None) -> "Line":
    """Raises `TimeoutError`, or another `OSError` if the server cannot be reached or is not trusted."""
    async with asyncio.timeout(timeout_s):
        _, line = await asyncio.get_running_loop().create_connection(
            Line, host, port, ssl=tls, happy_eyeballs_delay=NEXT_ADDRESS_AFTER_S
        )
    return line


class Line(asyncio.Protocol):
    """What arrived before the connection broke can still be read afterwards."""

    def __init__(self) -> None:
        self._received: list[bytes] = []
        self._waiting = 0
        self._is_over = False
        self._error: Exception | None = None
        self._news = asyncio.Event()
        self._may_write = asyncio.Event()
        self._may_write.set()

    @property
    def is_quiet(self) -> bool:
        """Open, and nothing has come that nobody asked for."""
        return not self._is_over and not self._received

    async def write(self, data: bytes, timeout_s: float | None) -> None:
        self._transport.write(data)
        async with asyncio.timeout(timeout_s):
            await self._may_write.wait()

    async def read(self, timeout_s: float | None) -> bytes:
        """What came since the last call, at least a byte; nothing at the end."""
        if not self._received and not self._is_over:
            self._news.clear()
            async with asyncio.timeout(timeout_s):
                await self._news.wait()
        if self._received:
            data = b"".join(self._received)
            self._received.clear()
            self._waiting = 0
            self._transport.resume_reading()
            return data
        if self._error is not None:
            raise self._error
        return b""

    def drop(self) -> None:
        self._is_over = True
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received.append(data)
        self._waiting += len(data)
        self._news.set()
        if self._waiting > READ_AHEAD:
            self._transport.pause_reading()

    def eof_received(self) -> None:
        self._is_over = True
        self._news.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_over = True
        self._error = error
        self._news.set()
        self._may_write.set()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()
