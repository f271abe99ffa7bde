"""The rows whose text is still coming."""

from collections.abc import Iterator

import msgspec

from robota.clients.web.markdown_html import GrowingMarkdown
from robota.clients.web.page_data import PageRow, ProseGrew, TextGrew
from robota.clients.web.page_rows import PROSE
from robota.clients.web.page_views import MAX_PROSE, TEXT_END
from robota.text.visible import visible


class _Prose:
    """Prose: finished blocks are rendered and told once."""

    def __init__(self, text: str) -> None:
        self.plain = _Plain(text)
        self._markdown = GrowingMarkdown()
        self._markdown.add(text)
        self._told = 0  # finished blocks

    def add(self, text: str) -> None:
        self.plain.add(text)
        self._markdown.add(text)

    def blocks(self) -> tuple[str, ...]:
        """All blocks so far. What was told of them stays the same."""
        last = self._markdown.last_block()
        return (*self._markdown.settled, *filter(None, (last,)))

    def change(self, ts: int) -> ProseGrew:
        """The blocks since the last one that was told and can no longer change."""
        blocks, start = self.blocks(), self._told
        self._told = len(self._markdown.settled)
        return ProseGrew(ts=ts, start=start, blocks=blocks[start:])


class _Plain:
    """Plain text: only its end is shown while it grows."""

    def __init__(self, text: str) -> None:
        self.length = len(text)
        self._tail = text[-TEXT_END:]

    def add(self, text: str) -> None:
        self.length += len(text)
        self._tail = (self._tail + text)[-TEXT_END:]

    def change(self, ts: int) -> TextGrew:
        return TextGrew(ts=ts, tail=visible(self._tail), length=self.length)


class GrowingRows:
    """Collects the text of rows that stream, until `changes` is asked for."""

    def __init__(self) -> None:
        self._rows: dict[int, _Prose | _Plain] = {}
        self._grown: set[int] = set()

    @property
    def has_grown(self) -> bool:
        """Whether there is text that was not told."""
        return bool(self._grown)

    def begin(self, row: PageRow, text: str) -> None:
        """A row streams, and has this text so far."""
        is_prose = row.kind in PROSE and len(text) <= MAX_PROSE
        self._rows[row.ts] = _Prose(text) if is_prose else _Plain(text)

    def add(self, ts: int, text: str) -> None:
        """More text of a row."""
        if (row := self._rows.get(ts)) is not None:
            row.add(text)
            self._grown.add(ts)
            if isinstance(row, _Prose) and row.plain.length > MAX_PROSE:  # nobody reads it while it grows
                self._rows[ts] = row.plain

    def end(self, ts: int) -> None:
        """The row is complete."""
        self._rows.pop(ts, None)
        self._grown.discard(ts)

    def with_text(self, row: PageRow) -> PageRow:
        """The row with everything that has come of it."""
        match self._rows.get(row.ts):
            case _Prose() as prose:
                return msgspec.structs.replace(row, blocks=prose.blocks(), text=None)
            case _Plain() as plain:
                return msgspec.structs.replace(row, text=plain.change(row.ts).tail)
            case None:
                return row

    def changes(self) -> Iterator[ProseGrew | TextGrew]:
        """What has grown since the last time."""
        grown, self._grown = self._grown, set()
        for ts in sorted(grown):
            yield self._rows[ts].change(ts)
