"""Convert between positions and lines of a text without splitting megabytes into lines."""

# Few enough newlines to step over one by one, enough text to count newlines in one call.
STEP = 16_384
# A line at most this far up is reached backwards; others are counted from the beginning.
NEAR = 1_000


class LineIndex:
    """Lines of a text with plain newlines, counted from 0. Counting continues from the last requested position."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line = self._offset = 0

    @property
    def line_count(self) -> int:
        """The number of lines; a final newline does not start another line."""
        return self.line_at(len(self._text)) + self._is_unfinished

    def line_at(self, position: int) -> int:
        """The line of a position: the number of newlines before it."""
        if position >= self._offset:
            self._line += self._text.count("\n", self._offset, position)
        else:
            self._line -= self._text.count("\n", position, self._offset)
        self._offset = position
        return self._line

    def start_of(self, line: int) -> int:
        """The start of a line. The line after the last starts after the final newline, even if that is missing."""
        if line < self._line:
            self._offset = self._start_above(line)
            self._line = line if self._offset else 0
        offset = self._start_from(self._text.rfind("\n", 0, self._offset) + 1, line - self._line)
        if offset > len(self._text):
            return offset
        self._line, self._offset = line, offset
        return offset

    def lines(self, first: int, end: int) -> list[str]:
        """The lines from `first` up to but not including `end`, without their endings."""
        if first >= end:
            return []
        start = self.start_of(first)
        return self._text[start : self.start_of(end) - 1].split("\n")

    @property
    def _is_unfinished(self) -> bool:
        return bool(self._text) and not self._text.endswith("\n")

    def _start_from(self, offset: int, further: int) -> int:
        """The start of the line that is `further` lines after the one that starts at `offset`."""
        while offset < len(self._text) and (passed := self._text.count("\n", offset, offset + STEP)) < further:
            offset += STEP
            further -= passed
        while further:
            newline = self._text.find("\n", offset)
            if newline < 0:
                return self._beyond_the_last(further)
            offset = newline + 1
            further -= 1
        return offset

    def _start_above(self, line: int) -> int:
        """The start of a line not far above the last requested one; 0 if it is far."""
        if self._line - line > NEAR:
            return 0
        offset = self._text.rfind("\n", 0, self._offset) + 1
        for _ in range(self._line - line):
            offset = self._text.rfind("\n", 0, offset - 1) + 1
        return offset

    def _beyond_the_last(self, further: int) -> int:
        if further == 1 and self._is_unfinished:
            return len(self._text) + 1
        raise ValueError(f"a line so far down is not among the {self.line_count} lines of the text")
