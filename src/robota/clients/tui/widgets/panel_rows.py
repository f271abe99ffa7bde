"""A panel as rows: its content in a frame, as much of it as fits."""

from collections.abc import Iterator, Sequence
from typing import Final

from robota.clients.render.view_lines import whole_view
from robota.clients.terminal.line import Line
from robota.clients.tui.flows.panel import Panel
from robota.clients.tui.painted_rows import wrap_row
from robota.clients.tui.theme import Role, Theme
from robota.clients.tui.widgets.context_bars import context_rows
from robota.clients.tui.widgets.frame import FRAME_ROWS, FrameEdges, framed, inner_width
from robota.protocol.slash_commands import ContextShown

# Lines that clients share are indented by more than a frame needs.
INDENT: Final = 4
SCROLL_KEYS: Final = "Up/Down PgUp/PgDn scroll   Esc closes"
CLOSE_KEYS: Final = "Esc closes"


def panel_rows(panel: Panel, theme: Theme, width: int, room: int) -> Iterator[str]:
    """The visible rows in their frame."""
    rows = content_rows(panel, theme, inner_width(width))
    height = panel_height(room)
    shown = rows[panel.top : panel.top + height]
    is_cut = len(shown) < len(rows)
    note = ((f"{panel.top + 1}-{panel.top + len(shown)} of {len(rows)}", Role.DIM),) if is_cut else ()
    frame = FrameEdges(title=panel.title, note=note, keys=SCROLL_KEYS if is_cut else CLOSE_KEYS)
    yield from framed(shown, frame, theme, width)


def panel_height(room: int) -> int:
    """The rows of the content that are visible at a time."""
    return max(1, room - FRAME_ROWS)


def content_rows(panel: Panel, theme: Theme, width: int) -> Sequence[str]:
    """All rows of the content, none wider than the panel."""
    match panel.content:
        case ContextShown(update=update, is_whole=is_whole):
            rows = list(context_rows(update, theme, width, is_whole=is_whole))
        case view:
            lines = whole_view(view, width=width + INDENT)
            rows = [theme.line(_outdented(line)) for line in lines]
    return [part for row in rows for part in wrap_row(row, width, keeps_words=True)]


def _outdented(line: Line) -> Line:
    return Line(line.text.removeprefix(" " * INDENT), line.colour)
