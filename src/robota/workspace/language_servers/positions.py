"""Positions in a text as the protocol counts them: in units of UTF-8, UTF-16 or UTF-32, as was agreed on."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import Final, Literal

from robota.workspace.language_servers.messages import Position

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]
ENCODINGS: Final[tuple[PositionEncoding, ...]] = ("utf-8", "utf-32", "utf-16")
# The protocol knows only these; a text may contain others that Python counts as line ends.
LINE_END: Final = re.compile("\r\n|\n|\r")


class PositionedText:
    """A text as it was sent to a server. Offsets count characters."""

    def __init__(self, text: str, encoding: PositionEncoding) -> None:
        self.text = text
        self._encoding = encoding

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in LINE_END.finditer(self.text))]

    def position(self, offset: int) -> Position:
        """The position of an offset."""
        line = bisect_right(self._starts, offset) - 1
        return Position(line, self._units(self.text[self._starts[line] : offset]))

    def offset(self, position: Position) -> int:
        """The offset of a position; beyond the end of a line or of the text it is that end."""
        if position.line >= len(self._starts):
            return len(self.text)
        start = self._starts[position.line]
        line = self.line(position.line)
        if self._encoding == "utf-32" or line.isascii():
            return start + min(position.character, len(line))
        for offset, units in enumerate(accumulate(self._widths(line), initial=0)):
            if units >= position.character:
                return start + offset
        return start + len(line)

    def line(self, number: int) -> str:
        """A line, counted from 0, without its end; empty after the last one."""
        if number >= len(self._starts):
            return ""
        following = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[number] : following].rstrip("\r\n")

    @property
    def end(self) -> Position:
        """The position after the last character."""
        return self.position(len(self.text))

    def _units(self, part: str) -> int:
        return len(part) if self._encoding == "utf-32" or part.isascii() else sum(self._widths(part))

    def _widths(self, part: str) -> Iterator[int]:
        for character in part:
            code = ord(character)
            if self._encoding == "utf-16":
                yield 1 + (code > 0xFFFF)
            else:
                yield 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF)
