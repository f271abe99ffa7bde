"""Parse texts with the grammars of tree-sitter. Only processes of their own may: some texts crash the parsers."""

import re
from functools import cache
from importlib import import_module
from time import monotonic

from tree_sitter import Language, Node, Parser, Point

PIECE = 4096
NOT_ASCII = re.compile(r"[^\x00-\x7f]")
MODULES = {
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}


@cache
def grammar_of(language: str) -> Language | None:
    """The grammar; None if there is none."""
    module, function = MODULES.get(language, (f"tree_sitter_{language}", "language"))
    try:
        return Language(getattr(import_module(module), function)())
    except (ImportError, ValueError):  # not installed, or built for another version of the parser
        return None


def parsed(grammar: Language, source: bytes, max_seconds: float) -> Node | None:
    """Parse; None on timeout. The input is cut off then, because interrupting the parser itself crashes Python."""
    deadline = monotonic() + max_seconds
    is_late = False

    def read(offset: int, _: Point) -> bytes:
        nonlocal is_late
        is_late = is_late or monotonic() > deadline
        return b"" if is_late else source[offset : offset + PIECE]

    root = Parser(grammar).parse(read).root_node
    return None if is_late else root


def in_ascii(text: str) -> bytes:
    """Replace every non-ASCII letter by an ASCII letter, and every non-ASCII space by a space.

    Scanners of grammars call C functions such as `isalpha`, which read past their tables for other characters: a brace
    and U+100000 in a shell script crashed the process. Grammars treat such characters alike anyway.
    """
    if text.isascii():
        return text.encode("ascii")
    return NOT_ASCII.sub(lambda match: " " if match[0].isspace() else "x", text).encode("ascii")
