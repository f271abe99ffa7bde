"""One line of a diff: its number, its sign, its text in pieces on a tinted row, wrapped beside the number."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from robota.clients.terminal.width import columns_of
from robota.clients.tui.painted_rows import FILL, plain
from robota.clients.tui.theme import Piece, Role, Theme, safe
from robota.clients.tui.widgets.changed_words import Span, changed_spans

MIN_TEXT_WIDTH: Final = 8

# A text, its role, and that of what is behind it.
TintedPiece = tuple[str, Role, Role]


class LineLook(msgspec.Struct, frozen=True, kw_only=True):
    """How a kind of line looks: its sign, its text, the words that differ, and what is behind all of it."""

    sign: str = " "
    text: Role = Role.PLAIN
    words: Role = Role.PLAIN
    row: Role = Role.PLAIN


UNCHANGED: Final = LineLook()
REMOVED: Final = LineLook(sign="-", text=Role.REMOVED, words=Role.REMOVED_WORDS, row=Role.REMOVED_ROW)
ADDED: Final = LineLook(sign="+", text=Role.ADDED, words=Role.ADDED_WORDS, row=Role.ADDED_ROW)


class ShownLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line, and the one that it is compared with, if there is one."""

    number: str
    pieces: tuple[Piece, ...]
    counterpart: str
    look: LineLook


def line_rows(line: ShownLine, theme: Theme, width: int) -> list[str]:
    """The line in as many rows as it needs."""
    look = line.look
    front = f"{line.number} "
    sign = f"{look.sign} "
    room = max(MIN_TEXT_WIDTH, width - len(front) - len(sign))
    rows = []
    for number, pieces in enumerate(_wrapped(_marked(line, theme), room)):
        begin = theme.paint(front, Role.DIM, look.row) + theme.paint(sign, look.text, look.row)
        margin = theme.paint(" " * (len(front) + len(sign)), on=look.row)
        text = "".join(theme.paint(*piece) for piece in pieces)
        rows.append(_ended((margin if number else begin) + text, look.row, theme))
    return rows


def padded(row: str, width: int) -> str:
    """The row with spaces to its width; a tint reaches as far."""
    missing = " " * max(0, width - columns_of(plain(row)))
    return row.replace(FILL, missing) if FILL in row else row + missing


def _ended(row: str, on: Role, theme: Theme) -> str:
    code = theme.codes.get(on)
    return f"{row}\x1b[{code}m{FILL}\x1b[0m" if code else row.rstrip(" ")


def _marked(line: ShownLine, theme: Theme) -> Iterator[TintedPiece]:
    """The pieces of the line, cut where the words begin and end that its counterpart lacks."""
    look = line.look
    spans = changed_spans("".join(text for text, _ in line.pieces), line.counterpart)
    for text, role, is_changed in _cut_at(line.pieces, spans):
        if theme.has_tints:
            yield text, role, look.words if is_changed else look.row
        elif look is UNCHANGED:
            yield text, role, Role.PLAIN
        else:
            yield text, look.words if is_changed else look.text, Role.PLAIN


def _cut_at(pieces: Iterable[Piece], spans: Sequence[Span]) -> Iterator[tuple[str, Role, bool]]:
    at, left = 0, list(spans)
    for text, role in pieces:
        begin, end = at, at + len(text)
        while left and left[0][0] < end:
            first, last = max(begin, left[0][0]), min(end, left[0][1])
            yield text[begin - at : first - at], role, False
            yield text[first - at : last - at], role, True
            begin = last
            if left[0][1] > end:
                break
            left.pop(0)
        yield text[begin - at :], role, False
        at = end


def _wrapped(pieces: Iterable[TintedPiece], width: int) -> Iterator[list[TintedPiece]]:
    """The pieces in rows of this width."""
    row: list[TintedPiece] = []
    left = width
    for text, role, on in pieces:
        shown, begin = safe(text), 0
        if columns_of(shown) <= left:
            row.append((shown, role, on))
            left -= columns_of(shown)
            continue
        for at, character in enumerate(shown):
            columns = columns_of(character)
            if columns > left:
                yield [*row, (shown[begin:at], role, on)]
                row, left, begin = [], width, at
            left -= columns
        row.append((shown[begin:], role, on))
    yield row
