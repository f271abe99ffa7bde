"""A full-screen reader for long text, with search and jumps between sections."""

from collections.abc import Sequence
from typing import Final

from robota.clients.tui.flows.reading import PagerReading, press_while_reading
from robota.clients.tui.painted_rows import plain, with_words_marked
from robota.clients.tui.palettes import NO_COLOURS
from robota.clients.tui.theme import Role, Theme
from robota.clients.tui.widgets.page_row import LaidOutRow, PageRow, laid_out

# For measuring rows that are painted when they are shown.
PLAIN_THEME: Final = Theme(NO_COLOURS)


class Reader:
    """Draws the visible rows of a `PagerReading`, and passes it the keys."""

    def __init__(
        self, rows: Sequence[PageRow], theme: Theme, *, sections: Sequence[int] = (), from_end: bool = False
    ) -> None:
        """`sections` are the rows that Tab jumps to."""
        self._source = tuple(rows)
        self._sections = frozenset(sections)
        self._theme = theme
        self._width = 0
        self._reading = PagerReading(rows=(), height=1)
        self._unpainted: dict[int, tuple[LaidOutRow, int]] = {}  # what a row belongs to, and which row of it that is
        self._last_painted: tuple[LaidOutRow | None, Sequence[str]] = (None, ())
        self._from_end = from_end

    def rows(self, width: int, height: int) -> Sequence[str]:
        """The visible rows and the foot."""
        if width != self._width:
            self._break_rows(width)
        is_first, self._from_end = self._from_end, False
        self._reading = self._reading.sized(max(1, height - 1))
        if is_first:
            self._reading = self._reading.at_end()
        reading = self._reading
        shown = [
            with_words_marked(self._painted(reading.top + index, row), reading.words, self._theme)
            for index, row in enumerate(reading.visible)
        ]
        filling = [""] * (reading.height - len(shown))
        return [*shown, *filling, self._theme.row([(reading.foot, Role.CHOSEN)], width)]

    def press(self, key: str) -> bool:
        """Handle a key; False closes the page."""
        after = press_while_reading(self._reading, key)
        if after is not None:
            self._reading = after
        return after is not None

    def _painted(self, index: int, row: str) -> str:
        if index not in self._unpainted:
            return row
        whole, part = self._unpainted[index]
        if self._last_painted[0] is not whole:
            self._last_painted = (whole, whole.rows(self._theme, self._width))
        return self._last_painted[1][part]

    def _break_rows(self, width: int) -> None:
        """Wrap long rows, keeping the position in the text."""
        self._width = width
        self._unpainted, self._last_painted = {}, (None, ())
        rows: list[str] = []
        sections = []
        for number, row in enumerate(self._source):
            if number in self._sections:
                sections.append(len(rows))
            parts = laid_out(row, PLAIN_THEME, width)
            if not isinstance(row, str):
                self._unpainted.update((len(rows) + part, (row, part)) for part in range(len(parts)))
            rows += parts
        texts = tuple(plain(row).casefold() for row in rows)
        self._reading = PagerReading(
            rows=tuple(rows),
            texts=texts,
            sections=tuple(sections),
            height=self._reading.height,
            words=self._reading.words,
        ).moved_to(self._reading.top)
