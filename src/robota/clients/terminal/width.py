"""Determine colours and width of a terminal, and measure and wrap text."""

import contextlib
import os
import unicodedata
from collections.abc import Mapping
from typing import Final

from robota.clients.terminal.line import TextOutput

MIN_WIDTH: Final = 20
ZERO_WIDTH_JOINER: Final = "\u200d"
SKIN_TONES: Final = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
FLAG_LETTERS: Final = frozenset(map(chr, range(0x1F1E6, 0x1F200)))


def wants_colour(err: TextOutput, env: Mapping[str, str]) -> bool:
    """Whether to use colours: on a terminal that supports them, unless NO_COLOR is set (https://no-color.org)."""
    return err.isatty() and not env.get("NO_COLOR") and env.get("TERM") != "dumb"


def width_of(err: TextOutput, env: Mapping[str, str]) -> int | None:
    """The columns of the terminal; None if it is not a terminal, or unknown."""
    if not err.isatty():
        return None
    columns = env.get("COLUMNS", "")
    if columns.isascii() and columns.isdecimal() and int(columns) >= MIN_WIDTH:
        return int(columns)
    for descriptor in (2, 1):
        with contextlib.suppress(OSError):
            found = os.get_terminal_size(descriptor).columns
            return found if found >= MIN_WIDTH else None
    return None


def columns_of(text: str) -> int:
    """The width of a text in columns: two for a wide character, none for a combining mark."""
    if text.isascii():
        return len(text)
    return sum(_columns_of_character(character) for character in text)


def cut_columns(text: str, width: int) -> str:
    """The text cut to this width in columns, with `…` at its end if it was cut."""
    if columns_of(text) <= width:
        return text
    end, columns = 0, 1
    for character in text:
        columns += columns_of(character)
        if columns > width:
            break
        end += 1
    return f"{text[:end]}…" if width > 0 else ""


def wrapped(text: str, width: int | None, indent: str) -> str:
    """Wrap the text between words, with further lines indented. Words that are too long for a line are kept whole."""
    if width is None:
        return text
    return "\n".join(_wrapped_line(line, width, indent) for line in text.split("\n"))


def broken(line: str, width: int, indent: str) -> list[str]:
    """A line in pieces that fit, for a word that is longer than the line. An address stays whole, to be opened."""
    if columns_of(line) <= width or "://" in line:
        return [line]
    pieces, piece, columns = [], "", 0
    for character in line:
        wide = columns_of(character)
        if columns + wide > width and piece.strip():
            pieces.append(piece)
            piece, columns = indent, columns_of(indent)
        piece, columns = piece + character, columns + wide
    return [*pieces, piece]


def _wrapped_line(line: str, width: int, indent: str) -> str:
    if columns_of(line) < width:
        return line
    body = line.lstrip(" ")
    current, lines = line[: len(line) - len(body)], []
    fits = width - 1
    for number, word in enumerate(body.split(" ")):
        longer = f"{current} {word}" if number else current + word
        if number and columns_of(longer) > fits:
            lines.append(current)
            longer = indent + word
        current = longer
    return "\n".join((*lines, current))


def _columns_of_character(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0  # a combining mark, or a part of a Hangul syllable that joins the one before it
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def letter_start(text: str, end: int) -> int:
    """The start of the grapheme that ends there, including combining marks and joined emoji."""
    start = max(0, end - 1)
    while start > 0 and _joins_letter_before(text, start):
        start -= 1
    return start


def letter_end(text: str, start: int) -> int:
    """The end of the grapheme that starts there."""
    end = min(len(text), start + 1)
    while end < len(text) and _joins_letter_before(text, end):
        end += 1
    return end


def _joins_letter_before(text: str, index: int) -> bool:
    character, before = text[index], text[index - 1]
    if character.isascii() or before == "\n":
        return False
    if before == ZERO_WIDTH_JOINER or character in SKIN_TONES or _columns_of_character(character) == 0:
        return True
    if character in FLAG_LETTERS:  # a pair is a flag
        first = index
        while first > 0 and text[first - 1] in FLAG_LETTERS:
            first -= 1
        return (index - first) % 2 == 1
    return False
