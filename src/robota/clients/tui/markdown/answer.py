"""A streamed answer: finished rows, and rows at its end that may still change."""

from typing import TYPE_CHECKING

from robota.clients.tui.file_links import FileAddress, no_links
from robota.clients.tui.markdown.blocks import BlockKind, BlockStream, MarkdownBlock
from robota.clients.tui.theme import Role, Theme

if TYPE_CHECKING:
    from robota.clients.tui.markdown.render import MarkdownRenderer


class StreamedAnswer:
    """Draws finished blocks once. The last one is drawn again only if it has changed."""

    def __init__(self, theme: Theme, file_address: FileAddress = no_links) -> None:
        self._theme = theme
        self._file_address = file_address
        self._blocks = BlockStream()
        self._drawn: tuple[MarkdownBlock | None, int, list[str]] = (None, 0, [])

    def feed(self, text: str, width: int) -> list[str]:
        """The rows that this text completes."""
        blocks = self._blocks.feed(text)
        rows = self._rows(blocks, width)
        return self._without_begun_row(rows, blocks[-1]) if blocks and blocks[-1].is_cut else rows

    def finish(self, width: int) -> list[str]:
        """End the answer; returns the remaining rows."""
        return self._rows(self._blocks.finish(), width)

    def tail(self, width: int) -> list[str]:
        """The rows of the unfinished block. A table is shown only when complete: each row may change its columns."""
        block = self._blocks.tail
        if block is None:
            return []
        if block.kind is BlockKind.TABLE:
            return [self._theme.paint(f"(a table, {block.text.count(chr(10)) + 1} rows so far)", Role.DIM)]
        if self._drawn[:2] != (block, width):
            self._drawn = (block, width, self._renderer().tail_rows(block, width))
        return self._drawn[2]

    def _without_begun_row(self, rows: list[str], block: MarkdownBlock) -> list[str]:
        """Draw the last row of a cut paragraph with the rest of it, if its words are exactly the last of the text."""
        words = rows[-1].split() if len(rows) > 1 else []
        if not words or not words[0][0].isalpha() or block.text.split()[-len(words) :] != words:
            return rows
        self._blocks.take_back(" ".join(words))
        return rows[:-1]

    def _rows(self, blocks: list[MarkdownBlock], width: int) -> list[str]:
        if not blocks:
            return []
        renderer = self._renderer()
        return [row for block in blocks for row in renderer.rows(block, width)]

    def _renderer(self) -> "MarkdownRenderer":
        """The Markdown renderer; rich is imported with the first answer, not with the first screen."""
        from robota.clients.tui.markdown.render import MarkdownRenderer

        return MarkdownRenderer(self._theme, self._file_address)
