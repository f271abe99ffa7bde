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
# The lines of a paste follow one another faster than anybody types.
PASTE_PAUSE_S: Final = 0.03
# Of a longer line the terminal hands on only the beginning, and does not say so.
LONGEST_LINE_BYTES: Final = 4095
LOCAL_MODES: Final = 3


def was_cut(text: str) -> bool:
    """Whether the terminal may have dropped the end of a line."""
    return any(len(line.encode()) >= LONGEST_LINE_BYTES for line in text.split("\n"))


class Console:
    """The person's end of the terminal. What nobody waits for goes to `on_idle_text`: lines, or None for Ctrl-D."""

    def __init__(self, descriptor: int, on_idle_text: Callable[[str | None], None]) -> None:
        self._descriptor = descriptor
        self._on_idle_text = on_idle_text
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._read_so_far = ""
        self._delivery: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Future[str | None] | None = None
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

    def forget(self) -> str:
        """Throw away what has been typed and not been read; returns it."""
        if self._delivery is not None:
            self._delivery.cancel()
        forgotten = self._read_so_far + self._half_typed()
        self._read_so_far = ""
        with contextlib.suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)
        return forgotten.strip()

    async def typed(self) -> str | None:
        """The next line, or the lines of a paste together; None at the end of the input."""
        if self.at_end:
            return None
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            return await self._waiting
        finally:
            self._waiting = None

    def _read(self) -> None:
        data = self._bytes()
        self._read_so_far += self._decoded(data)
        if self._delivery is not None:
            self._delivery.cancel()
        if data:
            self._delivery = asyncio.get_running_loop().call_later(PASTE_PAUSE_S, self._deliver)
        else:
            self._deliver()
            self._end()

    def _deliver(self) -> None:
        if not self._read_so_far.endswith("\n"):
            return
        if not self.at_end:
            # The last line of a paste often has no end: then the text is complete when the person presses Enter.
            self._read_so_far += self._half_typed()
            if not self._read_so_far.endswith("\n"):
                return
        text, self._read_so_far = self._read_so_far.removesuffix("\n"), ""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(text)
        else:
            self._on_idle_text(text)

    def _half_typed(self) -> str:
        """What stands in the terminal's own line editor; it hands that out when it is switched off and on."""
        with contextlib.suppress(termios.error):
            usual = termios.tcgetattr(self._descriptor)
            without_editor = [*usual]
            without_editor[LOCAL_MODES] &= ~termios.ICANON
            termios.tcsetattr(self._descriptor, termios.TCSANOW, without_editor)
            termios.tcsetattr(self._descriptor, termios.TCSANOW, usual)
        if not select.select([self._descriptor], [], [], 0)[0]:
            return ""
        return self._decoded(self._bytes())

    def _bytes(self) -> bytes:
        try:
            return os.read(self._descriptor, READ_BYTES)
        except OSError:
            return b""  # the terminal is gone

    def _decoded(self, data: bytes) -> str:
        return self._decoder.decode(data).replace("\r", "")

    def _end(self) -> None:
        self.at_end = True
        asyncio.get_running_loop().remove_reader(self._descriptor)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
        elif self._is_there:
            self._on_idle_text(None)

    @property
    def _is_there(self) -> bool:
        """Whether the terminal still is; of one that is gone a signal tells."""
        try:
            termios.tcgetattr(self._descriptor)
        except termios.error:
            return False
        return True
