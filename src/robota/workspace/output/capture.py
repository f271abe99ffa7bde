"""Capture the output of a command in bounded memory, spool long output to disk, and show it at a bounded rate.

Output for a terminal is kept as it would appear there: without colours, and with the last state of overwritten lines.
"""

import asyncio
import codecs
import os
import re
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

MEMORY_BYTES = 128 * 1024
SIDE_CHARACTERS = 64 * 1024
SPOOL_BYTES = 256 * 1024 * 1024
PIECE_CHARACTERS = 16 * 1024
PIECE_PAUSE_S = 0.03
# Escape sequences: with a final letter, for titles and links, and of two characters.
SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]+[0-~]|\x1b[0-Z\\^_`a-z{-~]"
)
UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)$")
ERASES_REST = re.compile(r"\x1b\[0?K")
ERASES_LINE = re.compile(r"\x1b\[[12]K")
# Markers for erased parts while a line is evaluated.
REST_ERASED = "\x0b"
LINE_ERASED = "\x0c"
NO_MARKS = str.maketrans("", "", REST_ERASED + LINE_ERASED)
OTHER_CONTROLS = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f]")
OVERWRITTEN_CHARACTERS = 4 * 1024
MAX_OPEN_CHARACTERS = 64 * 1024


class TerminalText:
    """`plain_terminal_text` for text that arrives in pieces. A line is final when it ends; until then it can change."""

    def __init__(self) -> None:
        self._open = ""

    def add(self, text: str) -> str:
        """Add text; returns the lines that are final now."""
        text = self._open + text
        if _is_plain(text):
            end = text.rfind("\n") + 1
            settled, self._open = text[:end], text[end:]
        else:
            lines = text.split("\n")
            self._open = lines.pop()
            settled = "".join(f"{_settled(line)}\n" for line in lines)
        if len(self._open) > OVERWRITTEN_CHARACTERS and not _is_plain(self._open):
            self._open = self._shortened()
        if len(self._open) > MAX_OPEN_CHARACTERS:  # an endless line, not a progress bar
            settled, self._open = settled + self.open_line, ""
        return settled

    @property
    def open_line(self) -> str:
        """The line that has not ended, as it appears now."""
        return _settled(self._open)

    def finish(self) -> str:
        """End the text; returns the last line if it is not terminated."""
        last, self._open = self.open_line, ""
        return last

    def _shortened(self) -> str:
        """The open line without what was overwritten, and with an escape sequence that may be incomplete.

        What follows the last carriage return stays apart: more text continues there, not at the end of the line.
        """
        begun = UNFINISHED.search(self._open)
        rest = begun[0] if begun is not None and len(begun[0]) < MAX_OPEN_CHARACTERS else ""
        before, returned, last = _marked(self._open[: len(self._open) - len(rest)]).rpartition("\r")
        if not returned or _erases(last):
            return _written(last) + rest
        return f"{_overwritten(before)}\r{_written(last)}{rest}"


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
        """A copy with the same content."""
        other = HeadAndTail(self._side)
        other.total, other._head, other._head_room = self.total, list(self._head), self._head_room
        other._tail, other._tail_size = deque(self._tail), self._tail_size
        return other

    @property
    def head(self) -> str:
        """The beginning; the whole text if it is short."""
        return "".join(self._head)

    @property
    def tail(self) -> str:
        """The end, without what is in `head`."""
        return "".join(self._tail)[-self._side :]


class OutputCapture:
    """Holds the beginning and the end of the output as text, and all its bytes in a file once it is long."""

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
        """Add bytes; returns the text that is decoded by now."""
        self.total_bytes += len(data)
        self._keep_bytes(data)
        return self._keep_text(self._decoder.decode(data))

    @property
    def decoded_bytes(self) -> int:
        """How many bytes the text so far stands for: all but those of an incomplete character at the end."""
        return self.total_bytes - len(self._decoder.getstate()[0])

    @property
    def text(self) -> HeadAndTail:
        """The output as it appears now: without colours, and with the last state of overwritten lines."""
        if not self._terminal.open_line:
            return self._text
        by_now = self._text.copy()
        by_now.add(self._terminal.open_line)
        return by_now

    def finish(self) -> str:
        """End the output; returns the text of an incomplete character."""
        rest = self._keep_text(self._decoder.decode(b"", final=True))
        self._text.add(self._terminal.finish())
        self._close_spool()
        return rest

    def to_file(self) -> Path | None:
        """The bytes so far as a file, even if they are few; None if it cannot be written."""
        self._begin_spool()
        return self.spool

    def discard(self) -> None:
        """Delete the file on disk."""
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
        with suppress(OSError):  # without a spool file, beginning and end are still kept
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
        self._waiting = HeadAndTail(PIECE_CHARACTERS // 2)
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        if not text:
            return
        self._waiting.add(text)
        if self._timer is None:
            self._flush()
            self._timer = asyncio.get_running_loop().call_later(PIECE_PAUSE_S, self._pause_over)

    def finish(self) -> None:
        """Show the rest and stop."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._flush()

    def _pause_over(self) -> None:
        self._timer = None
        if self._waiting.total:
            self._flush()
            self._timer = asyncio.get_running_loop().call_later(PIECE_PAUSE_S, self._pause_over)

    def _flush(self) -> None:
        head, tail = self._waiting.head, self._waiting.tail
        left_out = self._waiting.total - len(head) - len(tail)
        if self._waiting.total:
            self._waiting = HeadAndTail(PIECE_CHARACTERS // 2)
            self._show(f"{head}\n[… {left_out:,} characters not shown …]\n{tail}" if left_out else head + tail)


def spool_prefix(mark: str, directory: Path | None = None) -> str:
    """The prefix of the names of all output files that belong to `mark`."""
    return f"{directory or os.environ.get('TMPDIR') or '/tmp'}/robota-output-{mark}-"


def _create_spool(prefix: str) -> tuple[Path, int]:
    path = Path(f"{prefix}{os.urandom(8).hex()}.txt")
    return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def plain_terminal_text(text: str) -> str:
    """The text as it appears in a terminal after everything was printed."""
    reader = TerminalText()
    return reader.add(text) + reader.open_line


def _is_plain(text: str) -> bool:
    return "\x1b" not in text and "\r" not in text and "\b" not in text


def _settled(line: str) -> str:
    if _is_plain(line):
        return line
    return _overwritten(UNFINISHED.sub("", _marked(line.removesuffix("\r"))))


def _marked(line: str) -> str:
    """The line with marks in place of the escape sequences that erase, and without the others."""
    return SEQUENCE.sub(_in_place_of, line.translate(NO_MARKS))


def _overwritten(line: str) -> str:
    """What is left of a line when the text after each carriage return has overwritten its beginning."""
    shown = ""
    for text in line.split("\r"):
        new = _written(text)
        shown = new if _erases(text) else new + shown[len(new) :]
    return shown


def _erases(text: str) -> bool:
    return LINE_ERASED in text or REST_ERASED in text


def _written(text: str) -> str:
    """What a text without carriage returns leaves in an empty line."""
    return OTHER_CONTROLS.sub("", _without_backspaces(text.rpartition(LINE_ERASED)[2].replace(REST_ERASED, "")))


def _in_place_of(sequence: re.Match[str]) -> str:
    if ERASES_LINE.fullmatch(sequence[0]):
        return LINE_ERASED
    return REST_ERASED if ERASES_REST.fullmatch(sequence[0]) else ""


def _without_backspaces(text: str) -> str:
    if "\b" not in text:
        return text
    kept: list[str] = []
    for character in text:
        if character != "\b":
            kept.append(character)
        elif kept:
            kept.pop()
    return "".join(kept)
