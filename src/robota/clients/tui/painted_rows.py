"""Rows with colour sequences: measure and wrap them, and highlight words in them."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from robota.clients.terminal.width import columns_of
from robota.clients.tui.theme import Role, Theme

COLOUR: Final = r"\x1b\[[0-9;:]*m"
LINK: Final = r"\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)"
RESET: Final = "\x1b[0m"
# Right before the end of a row, gives the rest of it the same background. Unlike spaces, it is not wrapped when the
# window becomes narrower.
FILL: Final = "\x1b[K"
# The hanging indent of wrapped rows: the indentation of the first row, and the line number and sign of a diff.
HANGING: Final = r" *(?:\d+ [-+ ] )?"


class PaintedCell(msgspec.Struct, frozen=True):
    """A character with the colour sequences right before it, and all that are in effect there."""

    character: str
    sequences: str
    colour: str


def plain(row: str) -> str:
    """The text of a row without colours."""
    return re.sub(COLOUR, "", re.sub(LINK, "", row)).replace(FILL, "") if "\x1b" in row else row


def filled(row: str, width: int) -> str:
    """The row with spaces to the width instead of `FILL`, for a screen whose cells are drawn one by one."""
    return row.replace(FILL, " " * max(0, width - columns_of(plain(row)))) if FILL in row else row


def cells(row: str) -> Iterator[PaintedCell]:
    """The characters of a row without links; sequences at its end come with an empty character."""
    sequences = colour = ""
    for piece in re.split(f"({COLOUR})", re.sub(LINK, "", row).replace(FILL, "")):
        if piece.startswith("\x1b"):
            sequences += piece
            colour = "" if piece == RESET else colour + piece
            continue
        for character in piece:
            yield PaintedCell(character, sequences, colour)
            sequences = ""
    if sequences:
        yield PaintedCell("", sequences, colour)


def wrap_row(row: str, width: int, *, keeps_words: bool = False) -> Iterator[str]:
    """Wrap a row to the width, with a hanging indent. Links are removed; colours continue in the next row.

    With `keeps_words`, it is wrapped after a space if there is one in the second half of the row.
    """
    text = plain(row)
    if columns_of(text) <= width:
        yield re.sub(LINK, "", row)
        return
    indented = re.match(HANGING, text)
    hanging = len(indented[0]) if indented else 0
    indent = min(hanging, width // 2)
    min_columns = max(hanging, width // 2) if keeps_words else width
    parts, start, fill = list(cells(row)), 0, FILL if FILL in row else ""
    while start < len(parts):
        end = _row_end(parts, start, indent, width, min_columns)
        first, last = parts[start], parts[end - 1]
        begin = " " * indent + first.colour if start else first.sequences
        inner = "".join(cell.sequences + cell.character for cell in parts[start + 1 : end])
        is_open = last.colour and end < len(parts)
        filling = last.colour + fill + RESET if fill else ""
        yield begin + first.character + inner + filling + (RESET if is_open else "")
        start = end


def _row_end(parts: Sequence[PaintedCell], start: int, indent: int, width: int, min_columns: int) -> int:
    """Where the row that starts here ends: after a space, unless the row would have too few columns, or the word would
    not fit into the next one either.
    """
    columns = indent if start else 0
    after_space, columns_to_space = start, 0
    for index in range(start, len(parts)):
        wide = columns_of(parts[index].character)
        if columns + wide > width and index > start:
            word = columns - columns_to_space
            is_word_broken = columns_to_space <= min_columns or indent + word + wide > width
            return index if is_word_broken else after_space
        columns += wide
        if parts[index].character == " ":
            after_space, columns_to_space = index + 1, columns
    return len(parts)


def with_words_marked(row: str, words: str, theme: Theme) -> str:
    """The row with every occurrence of the words highlighted, without its other colours; unchanged if there is none."""
    text = plain(row)
    at = text.casefold().find(words.casefold()) if words else -1
    if at < 0 or len(text) != len(text.casefold()):
        return row
    marked, begin = "", 0
    while at >= 0:
        end = at + len(words)
        marked += theme.paint(text[begin:at]) + theme.paint(text[at:end], Role.CHOSEN)
        begin, at = end, text.casefold().find(words.casefold(), end)
    return marked + theme.paint(text[begin:])
