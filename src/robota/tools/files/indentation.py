"""The block of code around a line, by its indentation."""

from itertools import accumulate

TAB_COLUMNS = 4
LEVEL_COLUMNS = 4
HEADER_MARKS = ("#", "//", "--", "/*", "*", "'''", '"""', "@")


def block_around(lines: list[str], line: int, budget: int) -> tuple[int, int]:
    """The first and last line of the outermost block around a line, counted from 1; at most `budget` lines.

    Comments and decorators right above it belong to it.
    """
    levels = _levels(lines)
    anchor = line - 1
    up = _Side(lines, levels, anchor, -1)
    down = _Side(lines, levels, anchor, 1)
    while down.edge - up.edge + 1 < budget:
        if not up.advance() and not down.advance():
            break
        if down.edge - up.edge + 1 < budget:
            down.advance()
    return _without_blank_edges(lines, up.edge, down.edge, anchor)


class _Side:
    """One edge of the block, which moves away from the anchor, up or down."""

    def __init__(self, lines: list[str], levels: list[int], anchor: int, step: int) -> None:
        self.edge = anchor
        self._lines = lines
        self._levels = levels
        self._step = step
        self._has_outermost = False
        self._is_done = False

    def advance(self) -> bool:
        """Take one more line, unless the block ends here."""
        following = self.edge + self._step
        if self._is_done or not 0 <= following < len(self._lines) or not self._belongs(following):
            self._is_done = True
            return False
        self.edge = following
        return True

    def _belongs(self, at: int) -> bool:
        if self._has_outermost:  # beyond it is another block; only comments about this one belong to it
            return self._levels[at] == 0 and self._is_header(at)
        self._has_outermost = self._levels[at] == 0
        return True

    def _is_header(self, at: int) -> bool:
        return self._step < 0 and self._lines[at].lstrip().startswith(HEADER_MARKS)


def _levels(lines: list[str]) -> list[int]:
    """The indentation level of each line; a blank line has that of the line above."""

    def level(above: int, line: str) -> int:
        if not line.strip():
            return above
        expanded = line.expandtabs(TAB_COLUMNS)
        return (len(expanded) - len(expanded.lstrip())) // LEVEL_COLUMNS

    return list(accumulate(lines, level, initial=0))[1:]


def _without_blank_edges(lines: list[str], first: int, last: int, anchor: int) -> tuple[int, int]:
    while first < anchor and not lines[first].strip():
        first += 1
    while last > anchor and not lines[last].strip():
        last -= 1
    return first + 1, last + 1
