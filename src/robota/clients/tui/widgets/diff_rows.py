"""A diff as rows: line numbers, signs, colours of code on tinted rows, and in changed lines the words that differ.

In a wide window the two sides stand beside one another. A line is laid out and painted when it is shown.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby, zip_longest
from typing import Final

import msgspec

from robota.clients.tui.theme import Piece, Role, Theme
from robota.clients.tui.widgets.diff_line import ADDED, REMOVED, UNCHANGED, ShownLine, line_rows, padded
from robota.protocol.views import DiffHunk, DiffLine, DiffView
from robota.text.counted import counted

SHORT_ROWS: Final = 12
SHOWN_OF_LONGER: Final = 10
INDENT: Final = "    "
MIN_WIDTH_BESIDE: Final = 140
GAP: Final = 2
# A longer run of changed lines is not shown side by side: it would be painted all at once.
MAX_RUN: Final = 200
LOOKS: Final = {"remove": REMOVED, "add": ADDED}


def diff_text(
    view: DiffView, theme: Theme, width: int, *, is_whole: bool = False, is_numbered: bool = False
) -> Iterator[str]:
    """The file, then its changes; a long diff is cut after its first lines unless it `is_whole`."""
    head, *parts = diff_parts(view, is_numbered=is_numbered)
    yield from head.rows(theme, width)
    if is_whole:
        yield from (row for part in parts for row in part.rows(theme, width))
        return
    rows: list[str] = []
    while parts and len(rows) <= SHORT_ROWS:
        rows += parts.pop(0).rows(theme, width)
    if not parts and len(rows) <= SHORT_ROWS:
        yield from rows
        return
    left_out = len(rows) - SHOWN_OF_LONGER + sum(part.size for part in parts)
    yield from rows[:SHOWN_OF_LONGER]
    yield INDENT + theme.paint(f"... +{counted(left_out, 'line')} (Ctrl+O shows all)", Role.DIM)


def diff_parts(view: DiffView, *, is_numbered: bool = False, indent: str = INDENT) -> "list[DiffPart]":
    """The name of the file and the parts of its diff, not painted yet."""
    counts = ((f"  +{view.added}", Role.ADDED), (f" -{view.removed}", Role.REMOVED))
    new = (("  new file", Role.DIM),) if view.is_new else ()
    parts: list[DiffPart] = [DiffMark(pieces=((view.path, Role.BOLD), *new, *counts), indent=indent)]
    digits = len(str(max((_last_number(hunk) for hunk in view.hunks), default=0)))
    end = 1
    for number, hunk in enumerate(view.hunks):
        if (left_out := hunk.new_start - end) > 0:
            folded = f"{' ' * (digits - 1)}… {counted(left_out, 'unchanged line')}"
            parts.append(DiffMark(pieces=((folded, Role.DIM),), indent=indent))
        if is_numbered:
            head = f"[{number + 1}] change {number + 1} of {len(view.hunks)}"
            parts.append(DiffMark(pieces=((head, Role.BOLD),), indent=indent))
        parts += _hunk_parts(HunkColours(hunk, view), digits, indent)
        end = hunk.new_start + hunk.new_count
    return parts


class DiffMark(msgspec.Struct, frozen=True, kw_only=True):
    """A row between lines: the name of the file, the number of a change, how many lines are left out."""

    pieces: tuple[Piece, ...]
    indent: str = INDENT
    size: int = 1

    def rows(self, theme: Theme, width: int) -> Sequence[str]:
        """The mark on one row."""
        return (self.indent + theme.row(self.pieces, max(0, width - len(self.indent))),)


class HunkColours:
    """The colours of the code in a hunk."""

    def __init__(self, hunk: DiffHunk, view: DiffView) -> None:
        self.lines = hunk.lines
        self.is_two_sided = bool(view.added and view.removed)
        self._path = view.path

    def pieces(self, line: DiffLine, theme: Theme) -> tuple[Piece, ...]:
        """The line in the colours of its language, if the theme has them."""
        return self._coloured[id(line)] if theme.has_tints else ((_without_line_end(line), Role.PLAIN),)

    @cached_property
    def _coloured(self) -> dict[int, tuple[Piece, ...]]:
        """The pieces of each line by its identity. Each side is read as a whole, so that long strings are known."""
        from robota.clients.tui.markdown.code_colours import coloured_lines

        coloured: dict[int, tuple[Piece, ...]] = {}
        for left_out in ("add", "remove"):
            lines = [line for line in self.lines if line.kind != left_out]
            pieces = coloured_lines([_without_line_end(line) for line in lines], self._path)
            coloured.update((id(line), each) for line, each in zip(lines, pieces, strict=True))
        return coloured


class DiffRun:
    """Lines in a row: one that is unchanged, added or removed; or removed ones and those in their place."""

    def __init__(self, lines: Sequence[DiffLine], colours: HunkColours, digits: int, indent: str) -> None:
        self._old = [line for line in lines if line.kind != "add"]
        self._new = [line for line in lines if line.kind != "remove"]
        self._colours = colours
        self._digits = digits
        self._indent = indent
        self.size = len(lines)

    def rows(self, theme: Theme, width: int) -> Sequence[str]:
        """The lines below one another, or side by side in a wide window."""
        room = width - len(self._indent)
        is_beside = width >= MIN_WIDTH_BESIDE and self._colours.is_two_sided
        rows = self._beside(theme, room) if is_beside else self._below(theme, room)
        return [f"{self._indent}{row}" for row in rows]

    def _below(self, theme: Theme, room: int) -> Iterator[str]:
        is_unchanged = self._old == self._new
        for old, new in zip_longest(self._old, self._new):
            if old is not None and not is_unchanged:
                yield from line_rows(self._shown_line(old, new, theme), theme, room)
        for old, new in zip_longest(self._old, self._new):
            if new is not None:
                yield from line_rows(self._shown_line(new, old, theme), theme, room)

    def _beside(self, theme: Theme, room: int) -> Iterator[str]:
        half = (room - GAP) // 2
        for old, new in zip_longest(self._old, self._new):
            left = () if old is None else line_rows(self._shown_line(old, new, theme, is_old=True), theme, half)
            right = () if new is None else line_rows(self._shown_line(new, old, theme), theme, half)
            for one, other in zip_longest(left, right, fillvalue=""):
                yield f"{padded(one, half)}{' ' * GAP}{other}"

    def _shown_line(self, line: DiffLine, other: DiffLine | None, theme: Theme, *, is_old: bool = False) -> ShownLine:
        is_changed = line.kind in LOOKS
        number = line.old_line if is_old or line.kind == "remove" else line.new_line
        return ShownLine(
            number=f"{number or '':>{self._digits}}",
            pieces=self._colours.pieces(line, theme),
            counterpart="" if other is None or not is_changed else _without_line_end(other),
            look=LOOKS.get(line.kind, UNCHANGED),
        )


DiffPart = DiffMark | DiffRun


def _hunk_parts(colours: HunkColours, digits: int, indent: str) -> Iterator[DiffRun]:
    for is_context, group in groupby(colours.lines, key=lambda line: line.kind == "context"):
        lines = sorted(group, key=lambda line: line.kind == "add")  # what was removed first
        is_run = not is_context and len({line.kind for line in lines}) > 1 and len(lines) <= MAX_RUN
        for run in [lines] if is_run else [[line] for line in lines]:
            yield DiffRun(run, colours, digits, indent)


def _last_number(hunk: DiffHunk) -> int:
    return max(hunk.old_start + hunk.old_count, hunk.new_start + hunk.new_count) - 1


def _without_line_end(line: DiffLine) -> str:
    return line.text.rstrip("\r\n")
