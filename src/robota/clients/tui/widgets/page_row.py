"""A row of a page: painted text, or something that is laid out and painted only when it is shown."""

from collections.abc import Sequence
from typing import Protocol

from robota.clients.tui.painted_rows import wrap_row
from robota.clients.tui.theme import Theme


class LaidOutRow(Protocol):
    """Something that takes as many rows as it needs at a width; the theme changes colours only."""

    def rows(self, theme: Theme, width: int) -> Sequence[str]: ...


PageRow = str | LaidOutRow


def painted(row: PageRow, theme: Theme, width: int) -> Sequence[str]:
    """The rows at this width; painted text is not wrapped."""
    return (row,) if isinstance(row, str) else row.rows(theme, width)


def laid_out(row: PageRow, theme: Theme, width: int) -> Sequence[str]:
    """The rows at this width, none of them wider."""
    return list(wrap_row(row, width, keeps_words=True)) if isinstance(row, str) else row.rows(theme, width)
