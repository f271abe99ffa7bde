"""Convert the output of a status command to rows: colours are kept, other control sequences are removed."""

from typing import Final

from robota.clients.terminal.width import columns_of
from robota.clients.tui.painted_rows import RESET, cells
from robota.clients.tui.theme import safe

MAX_ROWS: Final = 3


def status_rows(output: str, width: int, *, has_colour: bool) -> list[str]:
    """The first lines, each no wider than the terminal."""
    lines = output.rstrip("\n").split("\n")[:MAX_ROWS] if output.strip() else []
    return [_row(line, width, has_colour=has_colour) for line in lines]


def _row(line: str, width: int, *, has_colour: bool) -> str:
    row, room, is_coloured = "", width, False
    for cell in cells(line):
        character = safe(cell.character)
        room -= columns_of(character)
        if room < 0:
            break
        is_coloured = is_coloured or bool(cell.sequences and has_colour)
        row += (cell.sequences if has_colour else "") + character
    return row + (RESET if is_coloured else "")
