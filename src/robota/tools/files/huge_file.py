"""Reads lines from a file that is too large to load, piece by piece and in constant memory."""

import asyncio
from typing import Final

import msgspec

from robota.contracts.tool import ToolError
from robota.contracts.workspace import Files
from robota.text.visible import printable_name
from robota.workspace.text.encoding import BYTE_ORDER_MARKS, decode

PIECE_BYTES: Final = 4 * 1024 * 1024
MAX_BYTES_OF_A_CHARACTER: Final = 4
# A few seconds of reading. Other tools are better for looking further into a file.
MAX_BYTES: Final = 4 * 1024 * 1024 * 1024
MAX_KEPT_BYTES: Final = 1024 * 1024
UTF_8_MARK: Final = b"\xef\xbb\xbf"


class HugeFileLines(msgspec.Struct, frozen=True, kw_only=True):
    """Some lines; `total` is the number of lines in the file, if its end was reached."""

    lines: list[str]
    total: int | None


async def lines_of_huge_file(files: Files, path: str, first: int, count: int, of_a_line: int) -> HugeFileLines:
    """The lines from `first`, at most `count` and `of_a_line` characters of each, limited to what can be shown."""
    window = _Window(first, count, of_a_line)
    position, stamp = 0, None
    while not window.is_full:
        # One piece at a time, so that other tasks can run and a cancelled call ends here.
        part = await asyncio.to_thread(files.read_part, path, position, PIECE_BYTES)
        if stamp not in (None, part.stamp):
            raise ToolError(f"{printable_name(path)!r} changed while it was read. Try again.")
        stamp = part.stamp
        if position == 0:
            _check_text(path, part.data)
        if not part.data:
            total = window.end()
            return HugeFileLines(lines=window.decoded(), total=total)
        window.take(part.data)
        position += len(part.data)
        if position > MAX_BYTES and not window.is_full:
            raise ToolError(
                f"Line {first} of {printable_name(path)!r} was not found within the first {MAX_BYTES:,} bytes. "
                "Use a command such as sed or tail."
            )
    return HugeFileLines(lines=window.decoded(), total=None)


def _check_text(path: str, start: bytes) -> None:
    wide = any(start.startswith(mark) for mark, _ in BYTE_ORDER_MARKS if mark != UTF_8_MARK)
    if wide or b"\0" in start:
        raise ToolError(
            f"{printable_name(path)!r} is binary, or encoded in UTF-16 or UTF-32, and too large to be read as a whole. "
            "Use a command."
        )


class _Window:
    """Counts lines and keeps the requested ones."""

    def __init__(self, first: int, count: int, of_a_line: int) -> None:
        self._first = first
        self._count = count
        self._of_a_line = of_a_line
        self._number = 1  # of the line that starts with `_line`
        self._line = bytearray()
        self._has_rest = False  # whether the last line has any byte, kept or not
        self._lines: list[bytes] = []
        self._kept = 0

    @property
    def is_full(self) -> bool:
        return len(self._lines) >= self._count or self._kept > MAX_KEPT_BYTES

    def take(self, data: bytes) -> None:
        ends = data.count(b"\n")
        if self._number + ends < self._first:
            self._number += ends
            self._has_rest = not data.endswith(b"\n")
            return
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._add(piece)
            self._end_line()
            if self.is_full:
                return
        self._add(rest)
        self._has_rest = bool(rest) or (self._has_rest and not whole)

    def end(self) -> int:
        """Finish at the end of the file. Returns its number of lines."""
        if not self._has_rest:
            return self._number - 1
        self._end_line()
        return self._number - 1

    def decoded(self) -> list[str]:
        text = decode(b"\n".join(line.removesuffix(b"\r") for line in self._lines)).readable if self._lines else ""
        return [line[: self._of_a_line] for line in text.split("\n")] if self._lines else []

    def _add(self, piece: bytes) -> None:
        if self._number >= self._first:
            self._line += piece[: MAX_BYTES_OF_A_CHARACTER * self._of_a_line - len(self._line)]

    def _end_line(self) -> None:
        if self._number >= self._first:
            self._lines.append(bytes(self._line))
            self._kept += len(self._line)
            self._line.clear()
        self._number += 1
