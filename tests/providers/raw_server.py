"""A server that sends exactly the bytes a test wants, when it wants."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"

Answering = Callable[[asyncio.StreamWriter], Awaitable[None]]


class RawServer:
    """`requests` holds the head of each request as it came, `bodies` what followed it."""

    def __init__(self, answering: Answering) -> None:
        self.url = ""
        self.requests: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self._answering = answering
        self._serving: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._serving.add(asyncio.create_task(self._serve(reader, writer)))

    async def all_served(self) -> None:
        """Wait until nobody is connected any more."""
        await asyncio.wait(self._serving)

    async def hang_up(self) -> None:
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._converse(reader, writer)
        finally:
            writer.transport.abort()
            # The transport is closed in the next round of the loop.
            await asyncio.sleep(0)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.requests.append(head)
                self.bodies.append(await reader.readexactly(_content_length(head)))
                await self._answering(writer)
                await writer.drain()
                if writer.is_closing():
                    await writer.wait_closed()
                    return


@contextlib.asynccontextmanager
async def raw_server(answering: Answering, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    server = RawServer(answering)
    listener = await asyncio.start_server(server.accept, "127.0.0.1", 0, ssl=tls)
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listener.close()
        await server.hang_up()


def whole(status: str, body: bytes, *headers: str) -> bytes:
    """A complete answer that keeps the connection open."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _content_length(head: str) -> int:
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            return int(value)
    return 0
