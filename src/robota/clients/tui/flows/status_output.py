"""Convert the output of a status command to rows: colours are kept, other control sequences are removed."""

import re
from collections.abc import Iterator
from typing import Final

from robota.clients.terminal.width import columns_of
from robota.clients.tui.theme import safe

MOST_ROWS: Final = 3
COLOUR: Final = r"\x1b\[[0-9;:]*m"
# Links are removed; their text is kept.
LINK: Final = r"\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)"
RESET: Final = "\x1b[0m"


def status_rows(output: str, width: int, *, has_colour: bool) -> list[str]:
    """The first lines, each no wider than the terminal."""
    lines = output.rstrip("\n").split("\n")[:MOST_ROWS] if output.strip() else []
    return [_row(re.sub(LINK, "", line), width, has_colour) for line in lines]


def _row(line: str, width: int, has_colour: bool) -> str:
    row, room, is_coloured = "", width, False
    for piece, is_colour in _pieces(line):
        if is_colour:
            row += piece if has_colour else ""
            is_coloured = has_colour
            continue
        for character in safe(piece):
            room -= columns_of(character)
            if room < 0:
                return row + (RESET if is_coloured else "")
            row += character
    return row + (RESET if is_coloured else "")


def _pieces(line: str) -> Iterator[tuple[str, bool]]:
    at = 0
    for found in re.finditer(COLOUR, line):
        yield line[at : found.start()], False
        yield found[0], True
        at = found.end()
    yield line[at:], False
