"""Symbols: the names that source code defines and uses."""

from typing import Final, Literal

import msgspec

SymbolKind = Literal[
    "class",
    "interface",
    "enum",
    "type",
    "module",
    "function",
    "method",
    "constant",
    "variable",
    "field",
    "macro",
]
# The version of what is read of a file; it changes with the queries, so that what was kept of a file is read again.
READING: Final = 1
MAX_SIGNATURE: Final = 160


class Symbol(msgspec.Struct, frozen=True, array_like=True):
    """A definition. `container` are the names around it, joined by dots; lines are counted from 1."""

    name: str
    container: str
    kind: SymbolKind
    line: int
    end_line: int
    signature: str

    @property
    def name_path(self) -> str:
        """Its name with those around it: `Store.open`."""
        return f"{self.container}.{self.name}" if self.container else self.name


class FileSymbols(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The definitions of a file, in its order, and how often it uses which names."""

    definitions: tuple[Symbol, ...] = ()
    uses: dict[str, int] = {}


class Occurrence(msgspec.Struct, frozen=True, array_like=True):
    """A place where a name stands as code, not in a comment or a text. `column` counts characters from 1.

    `within` is the name path of the definition around it, empty at the top of a file.
    """

    line: int
    column: int
    within: str
    is_definition: bool


class Occurrences(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The places of a name in a file."""

    places: tuple[Occurrence, ...] = ()


class Unreadable(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The file was not read: no grammar, not text, or it would take too long."""


class SymbolsRequest(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The line before a text whose symbols are wanted."""

    language: str
    size: int


class OccurrencesRequest(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The line before a text in which a name is looked for."""

    language: str
    size: int
    name: str


Answer = FileSymbols | Occurrences | Unreadable
Request = SymbolsRequest | OccurrencesRequest
