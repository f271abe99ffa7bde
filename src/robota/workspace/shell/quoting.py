"""Putting texts into a command so that they are only ever words or parts of words, wherever in it they stand."""

import re
import shlex
from collections.abc import Sequence
from typing import Final

import msgspec

SPECIAL_IN_DOUBLE_QUOTES: Final = re.compile(r'([\\"$`])')
# Something that the grammar reads as a word or a part of one.
PLACEHOLDER: Final = "xxx"


class Argument(msgspec.Struct, frozen=True):
    """A text to put in: as it is where quotes stand around it, as words where none do."""

    text: str
    words: tuple[str, ...]


class CannotQuote(Exception):
    """An argument stands where no quotes make it a plain text. The message says where, for a person."""


def with_arguments(pieces: Sequence[str | Argument]) -> str:
    """A command from its own text and arguments. Raises `CannotQuote`."""
    written = [piece if isinstance(piece, str) else PLACEHOLDER for piece in pieces]
    command = "".join(written)
    parts = []
    start = 0
    for piece, text in zip(pieces, written, strict=True):
        end = start + len(text)
        parts.append(piece if isinstance(piece, str) else _quoted(piece, command, start, end))
        start = end
    return "".join(parts)


def _quoted(argument: Argument, command: str, start: int, end: int) -> str:
    # Only a command with arguments needs the grammar.
    from robota.workspace.shell.grammar import quotes_around

    # Behind these our own quotes, or the first character of the argument, would mean something else.
    is_steered = command[:start].endswith(("\\", "$"))
    match None if is_steered else quotes_around(command, start, end):
        case "":
            return shlex.join(argument.words)
        case "'":
            return argument.text.replace("'", "'\"'\"'")
        case '"':
            return SPECIAL_IN_DOUBLE_QUOTES.sub(r"\\\1", argument.text)
        case _:
            line = command[:start].rpartition("\n")[2][-40:]
            raise CannotQuote(f"what was typed cannot be put safely behind {line!r}, where quotes mean something else")
