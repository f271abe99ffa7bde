"""Turn file names in a row into links that the terminal can open (OSC 8)."""

import re
from collections.abc import Callable
from typing import Final

from robota.clients.tui.painted_rows import COLOUR

# A word with a slash or a suffix; a line number may follow.
FILE_NAME: Final = (
    r"(?<![\w@:/.~-])(?P<path>(?:\.{0,2}/)?[\w.+@-]+(?:/[\w.+@-]+)+|[\w+@-][\w.+@-]*\.\w{1,10}|/[\w.+@-]+)"
    r"(?P<line>:\d+)?"
)
# Colour sequences and existing links are kept unchanged.
KEPT: Final = rf"({COLOUR}|\x1b\]8;[^\x1b]*\x1b\\.*?\x1b\]8;;\x1b\\)"
MAX_LINKS: Final = 20

# The address of an existing file; None for anything else.
FileAddress = Callable[[str], str | None]


def no_links(path: str) -> None:
    """The fallback for terminals without links, or without access to files."""
    return None


def link(text: str, address: str) -> str:
    """A text with a link to an address."""
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


def with_file_links(row: str, address_of: FileAddress) -> str:
    """The painted row with links on the names of existing files."""
    if address_of is no_links or not ("/" in row or "." in row):
        return row
    left = MAX_LINKS

    def linked(found: re.Match[str]) -> str:
        nonlocal left
        left -= 1
        path = found["path"]
        address = address_of(path) if left >= 0 else None
        if address is None and path.endswith("."):  # the end of a sentence
            path = path.rstrip(".")
            address = address_of(path) if left >= 0 else None
            return found[0] if address is None else link(path, address) + found[0][len(path) :]
        return found[0] if address is None else link(found[0], address)

    pieces = re.split(KEPT, row)
    return "".join(piece if piece.startswith("\x1b") else re.sub(FILE_NAME, linked, piece) for piece in pieces)
