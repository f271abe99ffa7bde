"""The streams of a connected socket, so that what the peer has sent is read even if it has left."""

import asyncio
import socket
from asyncio import StreamReader, StreamReaderProtocol, StreamWriter


class _WriteOnly(StreamReaderProtocol):
    """Leaves reading to the other transport of the connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()


async def socket_streams(connection: socket.socket) -> tuple[StreamReader, StreamWriter]:
    """Read and write with a transport each: one that cannot write any more also drops what it has not read.

    The connection is closed with the writer.
    """
    loop = asyncio.get_running_loop()
    reader, reading = await asyncio.open_connection(sock=connection)
    transport, protocol = await loop.create_connection(lambda: _WriteOnly(StreamReader()), sock=connection.dup())
    return reader, _BothWriter(transport, protocol, None, loop, reading)


class _BothWriter(StreamWriter):
    """Closes the reading transport, too."""

    def __init__(
        self,
        transport: asyncio.Transport,
        protocol: StreamReaderProtocol,
        reader: StreamReader | None,
        loop: asyncio.AbstractEventLoop,
        reading: StreamWriter,
    ) -> None:
        super().__init__(transport, protocol, reader, loop)
        self._reading = reading

    def close(self) -> None:
        self._reading.close()
        super().close()
