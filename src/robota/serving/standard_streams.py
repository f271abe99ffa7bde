"""Standard input and output as asyncio streams, whether they are pipes, sockets, files or terminals."""

import asyncio
import os
import stat
import sys
from asyncio import StreamReader, StreamWriter
from threading import Thread
from typing import BinaryIO, Final

CHUNK_BYTES: Final = 64 * 1024
LIMIT_BYTES: Final = 256 * 1024


async def standard_streams() -> tuple[StreamReader, StreamWriter]:
    """The standard streams, reserved for the protocol. From now on, `print` writes to standard error."""
    own_out = _taken_stdout()
    loop, reader = asyncio.get_running_loop(), await standard_input()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(StreamReader()), os.fdopen(_writable(own_out), "wb", 0)
    )
    return reader, StreamWriter(transport, protocol, None, loop)


def own_standard_output() -> BinaryIO:
    """The standard output, reserved for the protocol. From now on, `print` writes to standard error."""
    return os.fdopen(_taken_stdout(), "wb", 0)


def _taken_stdout() -> int:
    own_out = os.dup(sys.stdout.fileno())
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return own_out


async def standard_input() -> StreamReader:
    """Only the standard input."""
    reader = StreamReader(limit=LIMIT_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(_readable(os.dup(sys.stdin.fileno())), "rb", 0)
    )
    return reader


def _readable(source: int) -> int:
    """A descriptor that the event loop can wait for: a pipe or a socket.

    From anything else, a thread copies into a pipe.
    """
    if _is_pipe(source):
        return source
    there, here = os.pipe()
    Thread(target=_copy, args=(source, here), daemon=True).start()
    return there


def _writable(target: int) -> int:
    if _is_pipe(target):
        return target
    there, here = os.pipe()
    Thread(target=_copy, args=(there, target), daemon=True).start()
    return here


def _is_pipe(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _copy(source: int, target: int) -> None:
    try:
        while chunk := os.read(source, CHUNK_BYTES):
            while chunk:
                chunk = chunk[os.write(target, chunk) :]
    except OSError:
        pass  # one of the two ends was closed
    finally:
        os.close(source)
        os.close(target)
