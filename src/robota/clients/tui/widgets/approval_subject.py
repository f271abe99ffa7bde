"""The subject of a request for approval: all its rows, or as many as are printed at once."""

from collections.abc import Iterator
from typing import Final

from robota.clients.render.view_lines import whole_view
from robota.clients.tui.painted_rows import wrap_row
from robota.clients.tui.theme import NO_COLOURS, Role, Theme
from robota.clients.tui.widgets.diff_rows import diff_text
from robota.protocol.asks.ask import ApprovalAsk
from robota.protocol.views import DiffsView, DiffView

MAX_ROWS: Final = 200
MAX_ROW_LENGTH: Final = 2000


def fits_at_once(asked: ApprovalAsk) -> bool:
    """Whether everything is printed with the request."""
    rows = list(subject_rows(asked, Theme(NO_COLOURS)))
    return len(rows) <= MAX_ROWS and all(len(row) <= MAX_ROW_LENGTH for row in rows)


def first_rows(asked: ApprovalAsk, theme: Theme, width: int) -> list[str]:
    """The rows to print above the card."""
    rows = list(subject_rows(asked, theme))
    if fits_at_once(asked):
        return _wrapped(asked, rows, width)
    left_out = f"    Not all {len(rows):,} lines are shown: press Ctrl+O to see them before you approve."
    shown = [row[:MAX_ROW_LENGTH] for row in rows[:MAX_ROWS]]
    return [*_wrapped(asked, shown, width), theme.paint(left_out, Role.ERROR)]


def subject_rows(asked: ApprovalAsk, theme: Theme) -> Iterator[str]:
    """All rows."""
    match asked.view:
        case DiffView() as view:
            yield from diff_text(view, theme, is_whole=True, is_numbered=asked.choosable_hunks > 1)
        case DiffsView() as views:
            for file in views.files:
                yield from diff_text(file, theme, is_whole=True)
        case view:
            yield from map(theme.line, whole_view(view))


def _wrapped(asked: ApprovalAsk, rows: list[str], width: int) -> list[str]:
    """Wrap long lines of a diff next to their line numbers; lines of a command stay whole for copying."""
    is_diff = isinstance(asked.view, DiffView | DiffsView)
    return [part for row in rows for part in wrap_row(row, width)] if is_diff else rows
