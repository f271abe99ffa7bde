"""What was typed behind `/memory` or `robota memory`, as a request."""

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
    """The words are no request. The text says why, for a person."""


class ListEntries(msgspec.Struct, frozen=True):
    """Everything that is remembered."""


class ShowText(msgspec.Struct, frozen=True):
    """The index, or a topic."""

    topic: str = ""


class AddEntry(msgspec.Struct, frozen=True):
    """Remember something."""

    new: NewEntry


class ListCandidates(msgspec.Struct, frozen=True):
    """What waits for the person."""


class DecideCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """Approve or reject what was proposed."""

    id: str
    is_approved: bool


class ListUsed(msgspec.Struct, frozen=True):
    """What the model was told."""


class ForgetEntry(msgspec.Struct, frozen=True):
    """Remember something no longer."""

    id: str


class CheckEntries(msgspec.Struct, frozen=True):
    """Run the check of one entry, or of all."""

    id: str = ""


MemoryRequest = (
    ListEntries | ShowText | AddEntry | ListCandidates | DecideCandidate | ListUsed | ForgetEntry | CheckEntries
)


ALONE: Final[Mapping[str, MemoryRequest]] = {
    "": ListEntries(),
    "list": ListEntries(),
    "pending": ListCandidates(),
    "used": ListUsed(),
}


def memory_request(typed: str) -> MemoryRequest:
    """The request in the words. Raises `BadMemoryRequest`."""
    name, _, rest = typed.strip().partition(" ")
    rest = rest.strip()
    if name in ALONE and not rest:
        return ALONE[name]
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
            raise BadMemoryRequest("That is not a form of /memory.")


def _typed_entry(words: str) -> NewEntry:
    scope, words = _scope(words)
    kind, topic, text = [*words.split(maxsplit=2), "", "", ""][:3]
    if kind not in set(MemoryType):
        raise BadMemoryRequest(f"The type has to be one of {TYPES}.")
    if not text:
        raise BadMemoryRequest("A type, a topic and a text are needed.")
    text, check = _checked(text)
    return NewEntry(type=MemoryType(kind), topic=topic, text=text, scope=scope, check=check)


def _untyped_entry(words: str) -> NewEntry:
    scope, text = _scope(words)
    if not text:
        raise BadMemoryRequest("Say what to remember.")
    text, check = _checked(text)
    kind, topic = classify(text)
    return NewEntry(type=kind, topic=topic, text=text, scope=scope, check=check)


def _scope(words: str) -> tuple[MemoryScope, str]:
    first, _, rest = words.partition(" ")
    return (MemoryScope.USER, rest.strip()) if first == FOR_USER else (MemoryScope.PROJECT, words)


def _checked(text: str) -> tuple[str, str | None]:
    words, mark, check = text.partition(CHECK)
    return words, check.strip() if mark else None
