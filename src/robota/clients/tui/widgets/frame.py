"""A frame around rows: a title and a note in its upper edge, the keys in its lower one."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from robota.clients.terminal.width import columns_of, cut_columns
from robota.clients.tui.painted_rows import plain
from robota.clients.tui.theme import Piece, Role, Theme, safe

# The columns that the frame takes from its rows: an edge and a space at each side.
FRAME_COLUMNS: Final = 4
# The rows that it adds.
FRAME_ROWS: Final = 2
# A narrower window shows the rows without a frame.
MIN_WIDTH: Final = 40
EDGE_AT_SIDE: Final = 2


class FrameEdges(msgspec.Struct, frozen=True, kw_only=True):
    """The words in the edges. What does not fit is left out: the note first, then the keys."""

    title: str
    note: Sequence[Piece] = ()
    keys: str = ""
    edge: Role = Role.ACTIVE


def inner_width(width: int) -> int:
    """The columns inside a frame of this width."""
    return max(1, width - FRAME_COLUMNS) if width >= MIN_WIDTH else width


def framed(rows: Iterable[str], frame: FrameEdges, theme: Theme, width: int) -> Iterator[str]:
    """The painted rows in their frame; each is at most `inner_width` wide."""
    if width < MIN_WIDTH:
        yield theme.row([(frame.title, Role.BOLD)], width)
        yield from rows
        return
    glyphs, room = theme.glyphs, inner_width(width)
    yield _upper_edge(frame, theme, width)
    side = theme.paint(glyphs.upright, frame.edge)
    for row in rows:
        yield f"{side} {row}{' ' * (room - columns_of(plain(row)))} {side}"
    yield _lower_edge(frame, theme, width)


def _upper_edge(frame: FrameEdges, theme: Theme, width: int) -> str:
    glyphs, inside = theme.glyphs, width - 2 * EDGE_AT_SIDE
    title = f" {cut_columns(safe(frame.title), inside - 2)} "
    note: Sequence[Piece] = [(" ", frame.edge), *frame.note, (" ", frame.edge)] if frame.note else ()
    note_width = sum(columns_of(safe(text)) for text, _ in note)
    if columns_of(title) + note_width > inside:
        note, note_width = (), 0
    left = inside - columns_of(title) - note_width
    pieces: list[Piece] = [
        (glyphs.top_left + glyphs.across, frame.edge),
        (title, Role.BOLD),
        (glyphs.across * left, frame.edge),
        *note,
        (glyphs.across + glyphs.top_right, frame.edge),
    ]
    return theme.row(pieces, width)


def _lower_edge(frame: FrameEdges, theme: Theme, width: int) -> str:
    glyphs, inside = theme.glyphs, width - 2 * EDGE_AT_SIDE
    keys = f" {frame.keys} " if frame.keys else ""
    keys = keys if columns_of(keys) <= inside else ""
    pieces: list[Piece] = [
        (glyphs.bottom_left + glyphs.across, frame.edge),
        (keys, Role.DIM),
        (glyphs.across * (inside - columns_of(keys)), frame.edge),
        (glyphs.across + glyphs.bottom_right, frame.edge),
    ]
    return theme.row(pieces, width)
