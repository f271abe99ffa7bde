"""What a command prints: captured in bounded memory, spooled whole to disk when it is long, shown at a bounded rate."""

import asyncio
import codecs
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from robota.workspace.output.terminal_text import TerminalText

MEMORY_BYTES = 128 * 1024
SIDE_CHARACTERS = 64 * 1024
SPOOL_BYTES = 256 * 1024 * 1024
PIECE_CHARACTERS = 16 * 1024
PIECE_PAUSE_S = 0.03


class HeadAndTail:
    """The beginning and the end of a text of any length."""

    def __init__(self, side: int = SIDE_CHARACTERS) -> None:
        self.total = 0
        self._side = side
        self._head: list[str] = []
        self._head_room = side
        self._tail: deque[str] = deque()
        self._tail_size = 0

    def add(self, text: str) -> None:
        self.total += len(text)
        rest = text
        if self._head_room and text:
            self._head.append(text[: self._head_room])
            rest = text[self._head_room :]
            self._head_room -= len(text) - len(rest)
        if rest:
            self._tail.append(rest[-self._side :])
            self._tail_size += len(self._tail[-1])
            while self._tail_size - len(self._tail[0]) >= self._side:
                self._tail_size -= len(self._tail.popleft())

    def copy(self) -> "HeadAndTail":
        """Another one with the same content."""
        other = HeadAndTail(self._side)
        other.total, other._head, other._head_room = self.total, list(self._head), self._head_room
        other._tail, other._tail_size = deque(self._tail), self._tail_size
        return other

    @property
    def head(self) -> str:
        """The beginning; all of the text if that is short."""
        return "".join(self._head)

    @property
    def tail(self) -> str:
        """The end, as far as it is not in `head`."""
        return "".join(self._tail)[-self._side :]


class OutputCapture:
    """Holds the beginning and the end of the output as text, and all of its bytes in a file once it is long."""

    def __init__(self, spool_prefix: str) -> None:
        self.total_bytes = 0
        self._text = HeadAndTail()
        self._terminal = TerminalText()
        self.spool: Path | None = None
        self._prefix = spool_prefix
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unspooled: bytearray | None = bytearray()
        self._spool_descriptor: int | None = None

    def add(self, data: bytes) -> str:
        """Take more bytes; returns what of them is readable text by now."""
        self.total_bytes += len(data)
        self._keep_bytes(data)
        return self._keep_text(self._decoder.decode(data))

    @property
    def text(self) -> HeadAndTail:
        """The output as somebody would read it by now: without colours, and of an overwritten line the last state."""
        if not self._terminal.open_line:
            return self._text
        by_now = self._text.copy()
        by_now.add(self._terminal.open_line)
        return by_now

    def finish(self) -> str:
        """No more will come; returns what was held back as half a character."""
        rest = self._keep_text(self._decoder.decode(b"", final=True))
        self._text.add(self._terminal.finish())
        self._close_spool()
        return rest

    def to_file(self) -> Path | None:
        """The bytes so far as a file, even if they are few; None if the disk has no room."""
        self._begin_spool()
        return self.spool

    def discard(self) -> None:
        """Drop the file on disk; nobody will read it."""
        self._close_spool()
        if self.spool is not None:
            self.spool.unlink(missing_ok=True)
            self.spool = None

    def _keep_bytes(self, data: bytes) -> None:
        if self._unspooled is not None:
            self._unspooled += data
            if len(self._unspooled) > MEMORY_BYTES:
                self._begin_spool()
        elif self._spool_descriptor is not None:
            self._write_spool(data)

    def _begin_spool(self) -> None:
        if self._unspooled is None:
            return
        held, self._unspooled = bytes(self._unspooled), None
        with suppress(OSError):  # without a place to spool, beginning and end still serve
            self.spool, self._spool_descriptor = _create_spool(self._prefix)
            self._write_spool(held)

    def _write_spool(self, data: bytes) -> None:
        assert self._spool_descriptor is not None
        if self.total_bytes > SPOOL_BYTES:
            self._close_spool()
            return
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._spool_descriptor, rest) :]
        except OSError:
            self.discard()

    def _close_spool(self) -> None:
        if self._spool_descriptor is not None:
            os.close(self._spool_descriptor)
            self._spool_descriptor = None

    def _keep_text(self, text: str) -> str:
        self._text.add(self._terminal.add(text))
        return text


class OutputPacer:
    """Joins small pieces of output and drops the middle of a flood, so that it is shown at a bounded rate."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._waiting: list[str] = []
        self._size = 0
        self._left_out = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        if not text:
            return
        room = PIECE_CHARACTERS - self._size
        self._waiting.append(text[:room])
        self._size += len(self._waiting[-1])
        self._left_out += max(0, len(text) - room)
        if self._timer is None:
            self._flush()
            self._timer = asyncio.get_running_loop().call_later(PIECE_PAUSE_S, self._pause_over)

    def finish(self) -> None:
        """Show what is left and stop."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._flush()

    def _pause_over(self) -> None:
        self._timer = None
        if self._waiting:
            self._flush()
            self._timer = asyncio.get_running_loop().call_later(PIECE_PAUSE_S, self._pause_over)

    def _flush(self) -> None:
        piece = "".join(self._waiting)
        if self._left_out:
            piece += f"\n[… {self._left_out:,} characters not shown …]\n"
        self._waiting, self._size, self._left_out = [], 0, 0
        if piece:
            self._show(piece)


def spool_prefix(mark: str) -> str:
    """How the names of all output files begin that belong to `mark`."""
    return f"{os.environ.get('TMPDIR') or '/tmp'}/robota-output-{mark}-"


def _create_spool(prefix: str) -> tuple[Path, int]:
    path = Path(f"{prefix}{os.urandom(8).hex()}.txt")
    return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
