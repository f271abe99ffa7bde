"""What can be asked for about intents, and how the words behind `/intents` become a request."""

import shlex
from collections.abc import Sequence

import msgspec

from robota.intents.upkeep.intent_text import NewIntent


class BadIntentRequest(Exception):
    """The words are no request. The message says what is wrong."""


class ListIntents(msgspec.Struct, frozen=True):
    """All intents."""


class ShowIntent(msgspec.Struct, frozen=True):
    """One intent in full."""

    id: str


class CreateIntent(msgspec.Struct, frozen=True):
    """Write down a new intent."""

    new: NewIntent


class StartIntent(msgspec.Struct, frozen=True):
    """Let agents work on an intent."""

    id: str


class CompleteIntent(msgspec.Struct, frozen=True):
    """Run the criteria of an intent and, if all pass, close it."""

    id: str


class ReportDrift(msgspec.Struct, frozen=True):
    """How far intents are, and where work has left what was agreed on."""

    id: str = ""


class DrawMap(msgspec.Struct, frozen=True):
    """Make `intent_map.md` anew."""


IntentRequest = ListIntents | ShowIntent | CreateIntent | StartIntent | CompleteIntent | ReportDrift | DrawMap
OF_ONE: dict[str, type[ShowIntent | StartIntent | CompleteIntent]] = {
    "show": ShowIntent,
    "start": StartIntent,
    "complete": CompleteIntent,
}


def intent_request(arguments: str) -> IntentRequest:
    """The request in a line that was typed. `new NAME -- PATTERN…` needs at least one pattern."""
    try:
        words = shlex.split(arguments)
    except ValueError as error:
        raise BadIntentRequest(f"The quotes do not fit: {error}.") from error
    match words:
        case [] | ["list"]:
            return ListIntents()
        case ["map"]:
            return DrawMap()
        case ["status"]:
            return ReportDrift()
        case ["status", id]:
            return ReportDrift(id)
        case ["new", *rest]:
            return CreateIntent(_new(rest))
        case [name, id] if name in OF_ONE:
            return OF_ONE[name](id)
        case [name] if name in OF_ONE:
            raise BadIntentRequest(f"{name} needs the id of an intent.")
        case _:
            raise BadIntentRequest(f"There is no action {words[0]!r} with these words.")


def _new(words: Sequence[str]) -> NewIntent:
    if "--" not in words:
        raise BadIntentRequest("Put -- between the name and the patterns of its files.")
    place = list(words).index("--")
    name, patterns = " ".join(words[:place]), tuple(words[place + 1 :])
    if not name or not patterns:
        raise BadIntentRequest("An intent needs a name and at least one pattern.")
    return NewIntent(name=name, owned_scope=patterns)
