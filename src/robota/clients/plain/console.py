"""Lines from a terminal, read without blocking: what was typed before a question is never an answer to it."""

import asyncio
import codecs
import contextlib
import os
import select
import termios
from collections.abc import Callable, Iterator
from typing import Final

READ_BYTES: Final = 64 * 1024


class Console:
    """The person's end of the terminal. Lines that nobody waits for go to `on_idle_lines`."""

    def __init__(self, descriptor: int, on_idle_lines: Callable[[str], None]) -> None:
        self._descriptor = descriptor
        self._on_idle_lines = on_idle_lines
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._waiting: asyncio.Future[list[str] | None] | None = None
        self.at_end = False

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Read within this context; outside of it somebody else has the terminal."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._descriptor, self._read)
        try:
            yield
        finally:
            loop.remove_reader(self._descriptor)

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Within this context another program has the terminal."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._descriptor)
        try:
            yield
        finally:
            if not self.at_end:
                loop.add_reader(self._descriptor, self._read)

    def forget(self) -> None:
        """Throw away what has been typed and not been read."""
        with contextlib.suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)
        self._rest = ""

    async def line(self) -> str | None:
        """The next line; None at the end of the input."""
        lines = await self._lines()
        return lines[0] if lines else None

    async def text(self) -> str | None:
        """The next line, or the lines of a paste together."""
        lines = await self._lines()
        return "\n".join(lines) if lines else None

    async def _lines(self) -> list[str] | None:
        if self.at_end:
            return None
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            return await self._waiting
        finally:
            self._waiting = None

    def _read(self) -> None:
        data = self._bytes()
        # A terminal gives one line at a time; those of a paste are all there already.
        while data.endswith(b"\n") and select.select([self._descriptor], [], [], 0)[0] and (more := self._bytes()):
            data += more
        if not data:
            self._end()
            return
        *lines, self._rest = (self._rest + self._decoder.decode(data)).replace("\r", "").split("\n")
        if not lines:
            return
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(lines)
        else:
            self._on_idle_lines("\n".join(lines))

    def _bytes(self) -> bytes:
        try:
            return os.read(self._descriptor, READ_BYTES)
        except OSError:
            return b""  # the terminal is gone

    def _end(self) -> None:
        self.at_end = True
        asyncio.get_running_loop().remove_reader(self._descriptor)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
