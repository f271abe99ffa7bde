"""Insert arguments into a command, quoted so that each is only ever a word or a part of a word."""

import re
import shlex
from collections.abc import Sequence
from typing import Final

import msgspec

SPECIAL_IN_DOUBLE_QUOTES: Final = re.compile(r'([\\"$`])')
# Parsed by the grammar as a word or a part of one.
PLACEHOLDER: Final = "xxx"


class Argument(msgspec.Struct, frozen=True):
    """A text to insert: `text` inside quotes, `words` outside."""

    text: str
    words: tuple[str, ...]


class CannotQuote(Exception):
    """An argument is at a position where it cannot be quoted. The message says where, for the user."""


def with_arguments(pieces: Sequence[str | Argument]) -> str:
    """Build a command from its own text and arguments. Raises `CannotQuote`."""
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
    # Imported only for a command with arguments.
    from robota.workspace.shell.grammar import quotes_around

    # After these, our own quotes or the first character of the argument would mean something else.
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
