"""Parses the words after `/memory` into a request."""

from collections.abc import Mapping
from typing import Final

import msgspec

from robota.knowledge.memory.candidates import classify
from robota.knowledge.memory.entry import MemoryType
from robota.knowledge.memory.memories import MemoryScope, NewEntry

FOR_USER: Final = "--user"
CHECK: Final = " --run "
TYPES: Final = ", ".join(MemoryType)


class BadMemoryRequest(Exception):
    """The words are not a valid request. The message, for the user, says why."""


class ListEntries(msgspec.Struct, frozen=True):
    """List all entries."""


class ShowText(msgspec.Struct, frozen=True):
    """Show the index, or a topic."""

    topic: str = ""


class AddEntry(msgspec.Struct, frozen=True):
    """Add an entry."""

    new: NewEntry


class ListCandidates(msgspec.Struct, frozen=True):
    """List the candidates that wait for approval."""


class DecideCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """Approve or reject a candidate."""

    id: str
    is_approved: bool


class ListUsed(msgspec.Struct, frozen=True):
    """List the entries that were sent to the model."""


class ForgetEntry(msgspec.Struct, frozen=True):
    """Remove an entry."""

    id: str


class CheckEntries(msgspec.Struct, frozen=True):
    """Run the check of one entry, or of all."""

    id: str = ""


MemoryRequest = (
    ListEntries | ShowText | AddEntry | ListCandidates | DecideCandidate | ListUsed | ForgetEntry | CheckEntries
)


WITHOUT_ARGUMENTS: Final[Mapping[str, MemoryRequest]] = {
    "": ListEntries(),
    "list": ListEntries(),
    "pending": ListCandidates(),
    "used": ListUsed(),
}


def parse_memory_request(typed: str) -> MemoryRequest:
    """Parse a request. Raises `BadMemoryRequest`."""
    name, _, rest = typed.strip().partition(" ")
    rest = rest.strip()
    if name in WITHOUT_ARGUMENTS and not rest:
        return WITHOUT_ARGUMENTS[name]
    match name:
        case "show":
            return ShowText("" if rest == "index" else rest)
        case "add":
            return AddEntry(_typed_entry(rest))
        case "note":
            return AddEntry(_untyped_entry(rest))
        case "approve" | "reject" if rest:
            return DecideCandidate(id=rest, is_approved=name == "approve")
        case "forget" if rest:
            return ForgetEntry(rest)
        case "check":
            return CheckEntries(rest)
        case _:
            raise BadMemoryRequest("Invalid arguments for /memory.")


def _typed_entry(words: str) -> NewEntry:
    scope, words = _scope(words)
    kind, topic, text = [*words.split(maxsplit=2), "", "", ""][:3]
    if kind not in set(MemoryType):
        raise BadMemoryRequest(f"The type must be one of {TYPES}.")
    if not text:
        raise BadMemoryRequest("A type, a topic and a text are required.")
    text, check = _split_check(text)
    return NewEntry(type=MemoryType(kind), topic=topic, text=text, scope=scope, check=check)


def _untyped_entry(words: str) -> NewEntry:
    scope, text = _scope(words)
    if not text:
        raise BadMemoryRequest("Give the text to remember.")
    text, check = _split_check(text)
    kind, topic = classify(text)
    return NewEntry(type=kind, topic=topic, text=text, scope=scope, check=check)


def _scope(words: str) -> tuple[MemoryScope, str]:
    first, _, rest = words.partition(" ")
    return (MemoryScope.USER, rest.strip()) if first == FOR_USER else (MemoryScope.PROJECT, words)


def _split_check(text: str) -> tuple[str, str | None]:
    words, mark, check = text.partition(CHECK)
    return words, check.strip() if mark else None
