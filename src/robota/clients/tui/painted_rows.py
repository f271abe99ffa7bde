"""Rows with colour sequences: measure and wrap them, and highlight words in them."""

import re
from collections.abc import Iterator
from typing import Final

from robota.clients.terminal.width import columns_of
from robota.clients.tui.theme import Role, Theme

COLOUR: Final = r"\x1b\[[0-9;]*m"
LINK: Final = r"\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)"
RESET: Final = "\x1b[0m"
# The hanging indent of wrapped rows: the indentation of the first row, and the line number and sign of a diff.
HANGING: Final = r" *(?:\d+ [-+ ] )?"


def plain(row: str) -> str:
    """The text of a row without colours."""
    return re.sub(COLOUR, "", re.sub(LINK, "", row)) if "\x1b" in row else row


def broken(row: str, width: int, *, keeps_words: bool = False) -> Iterator[str]:
    """Wrap a row to the width, with a hanging indent. Links are removed; colours continue in the next row.

    With `keeps_words`, it is wrapped after a space if there is one in the second half of the row.
    """
    row = re.sub(LINK, "", row)
    text = plain(row)
    if columns_of(text) <= width:
        yield row
        return
    indented = re.match(HANGING, text)
    hanging = len(indented[0]) if indented else 0
    indent = " " * min(hanging, width // 2)
    least = max(hanging, width // 2) if keeps_words else width  # a row broken after a space is wider than this
    part, columns, colour = "", 0, ""
    after_space = (0, 0, "")  # where the word begins: in the part, in columns, and the colour there
    for piece in re.split(r"(\x1b\[[0-9;]*m)", row):
        if piece.startswith("\x1b"):
            colour = "" if piece == RESET else colour + piece
            part += piece
            continue
        for character in piece:
            wide = columns_of(character)
            if columns + wide > width and part:
                at, done, before = after_space
                if done <= least or len(indent) + columns - done + wide > width:
                    at, done, before = len(part), columns, colour
                yield part[:at] + RESET if before else part[:at]
                part, columns = indent + before + part[at:], len(indent) + columns - done
                after_space = (0, 0, "")
            part += character
            columns += wide
            if character == " ":
                after_space = (len(part), columns, colour)
    yield part


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
