"""The first rows of a conversation: who is here, with which model, where, and what can be typed."""

from collections.abc import Iterator
from typing import Final

import msgspec

from robota.clients.tui.glyphs import SYMBOLS
from robota.clients.tui.theme import Piece, Role, Theme

FACE: Final = ("╭───╮", "│▪ ▪│", "╰─┬─╯")
ASCII_FACE: Final = ("+---+", "|o o|", "+-+-+")
# In a narrower window there is no room for a face.
MIN_WIDTH_WITH_FACE: Final = 40
HINTS: Final = (("/", "commands"), ("@", "files"), ("!", "shell"), ("?", "keys"), ("Shift+Tab", "permission mode"))


class Greeting(msgspec.Struct, frozen=True, kw_only=True):
    """What a conversation begins with."""

    version: str
    model: str
    directory: str
    permission_mode: str
    is_continued: bool = False


def greeting_rows(greeting: Greeting, theme: Theme, width: int) -> Iterator[str]:
    """Four rows; only the first if a session is continued."""
    name: tuple[Piece, ...] = (("Robota", Role.BOLD), (f" {greeting.version}", Role.DIM))
    if greeting.is_continued:
        yield theme.row([*name, (f"  {greeting.model}  session continued", Role.DIM)], width)
        return
    mode = (f"  {greeting.permission_mode} mode", Role.DIM)
    rows: tuple[tuple[Piece, ...], ...] = (
        name,
        ((greeting.model, Role.PLAIN), mode),
        ((greeting.directory, Role.DIM),),
    )
    face = FACE if theme.glyphs is SYMBOLS else ASCII_FACE
    for part, pieces in zip(face, rows, strict=True):
        front = [(f"{part}  ", Role.ACTIVE)] if width >= MIN_WIDTH_WITH_FACE else []
        yield theme.row([*front, *pieces], width)
    yield theme.row(list(_hints(width)), width)


def _hints(width: int) -> Iterator[Piece]:
    """As many as fit."""
    left = width
    for key, words in HINTS:
        left -= len(key) + len(words) + 4
        if left < 0:
            return
        yield f"{key} ", Role.ACTIVE
        yield f"{words}   ", Role.DIM
