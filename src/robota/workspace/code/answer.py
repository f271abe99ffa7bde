"""What is answered to a question about code, and how sure it is."""

from enum import StrEnum

import msgspec

from robota.workspace.code.reading_code import Definition, Use


class Certainty(StrEnum):
    """Where an answer comes from."""

    EXACT = "exact"  # from a language server that has read the project
    PARTIAL = "partial"  # from one that is still reading it
    SYNTACTIC = "syntactic"  # names of code, compared by a grammar
    TEXTUAL = "textual"  # found as text


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """Places in the workspace, in order; `elsewhere` are files outside of it.

    `source` is the server or the kind of search, `others` are places that have the name as code too, and `reason` says
    why there is no answer of a server.
    """

    places: tuple[Use, ...]
    certainty: Certainty
    source: str
    elsewhere: tuple[str, ...] = ()
    others: tuple[Use, ...] = ()
    in_texts: int = 0
    is_cut: bool = False
    reason: str = ""


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """What is said about a symbol."""

    text: str
    certainty: Certainty
    source: str
    reason: str = ""


class Finding(msgspec.Struct, frozen=True, order=True):
    """A diagnostic of a file; line and column count from 1, severity 1 is an error and 2 a warning."""

    line: int
    column: int
    severity: int
    message: str
    code: str = ""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """The diagnostics of a file; None means unknown, which is not the same as none."""

    path: str
    findings: tuple[Finding, ...] | None
    certainty: Certainty
    source: str
    reason: str = ""


class SeveralSymbols(msgspec.Struct, frozen=True):
    """Several symbols have the name."""

    candidates: tuple[Definition, ...]


class Unknown(msgspec.Struct, frozen=True):
    """Nothing in the workspace has the name; `similar` are definitions of similar names."""

    similar: tuple[Definition, ...] = ()


CodeAnswer = Places | Described | Findings | SeveralSymbols | Unknown
