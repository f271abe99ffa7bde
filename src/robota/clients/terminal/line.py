"""A line of text for a person, and the colours it can have (SGR codes of a terminal)."""

from typing import Final

import msgspec

BOLD: Final = "1"
DIM: Final = "2"
RED: Final = "31"
GREEN: Final = "32"
INSET: Final = "    "


class Line(msgspec.Struct, frozen=True):
    """One line; without a colour it looks like the rest of the terminal."""

    text: str
    colour: str | None = None
