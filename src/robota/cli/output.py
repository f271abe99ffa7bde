"""Prints sentences and columns as wide as the terminal, and values as indented JSON."""

import sys
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from robota.text.visible import printable_name

NARROWEST_COLUMN: Final = 20
GAP: Final = "  "


def print_columns(rows: Sequence[Sequence[str]]) -> None:
    """On a terminal the last column is broken between words; in a pipe every row stays one line."""
    for line in in_columns(rows, terminal_width()):
        print(line)


def print_prose(text: str, indent: str = "") -> None:
    """Print sentences. On a terminal they are wrapped between words, with further lines indented."""
    print("\n".join(prose_lines(text, indent)))


def prose_lines(text: str, indent: str = "") -> list[str]:
    """Sentences as lines that fit on the terminal; a word that fits on no line, a path say, is left whole."""
    from robota.clients.terminal.width import wrapped

    return wrapped(text, terminal_width(), indent).split("\n")


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def terminal_width() -> int | None:
    """The columns of the terminal; None if standard output is not a terminal."""
    if not sys.stdout.isatty():
        return None
    from shutil import get_terminal_size

    return get_terminal_size().columns


def in_columns(rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """The rows as lines; if the last column is too wide, it is wrapped within its column.

    Control characters in a cell are made visible, so that a foreign name can neither steer the terminal nor look like
    two rows.
    """
    rows = [[printable_name(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    indent = sum(widths) + len(GAP) * len(widths)
    room = None if width is None else width - indent - 1
    lines = []
    for row in rows:
        head = "".join(f"{cell:<{size}}{GAP}" for cell, size in zip(row[:-1], widths, strict=True))
        first, *more = wrapped(row[-1], room)
        lines.append((head + first).rstrip())
        lines.extend(" " * indent + line for line in more)
    return lines


def wrapped(text: str, room: int | None) -> list[str]:
    """The text in lines of at most `room` characters; whole if there is too little room for words."""
    if room is None or room < NARROWEST_COLUMN or len(text) <= room:
        return [text]
    from textwrap import wrap

    return wrap(text, room, break_on_hyphens=False) or [text]
