"""Parses the words after `/intents` into a request."""

import shlex
from collections.abc import Sequence

import msgspec

from robota.intents.upkeep.intent_text import NewIntent


class BadIntentRequest(Exception):
    """The words are not a valid request. The message says why."""


class ListIntents(msgspec.Struct, frozen=True):
    """List all intents."""


class ShowIntent(msgspec.Struct, frozen=True):
    """Show one intent in full."""

    id: str


class CreateIntent(msgspec.Struct, frozen=True):
    """Create an intent."""

    new: NewIntent


class StartIntent(msgspec.Struct, frozen=True):
    """Set an intent to IN_PROGRESS, so that agents may work on it."""

    id: str


class CompleteIntent(msgspec.Struct, frozen=True):
    """Run the criteria of an intent and complete it if all pass."""

    id: str


class ReportDrift(msgspec.Struct, frozen=True):
    """Report the progress of intents, and work outside their scope."""

    id: str = ""


class DrawMap(msgspec.Struct, frozen=True):
    """Write `intent_map.md` again."""


IntentRequest = ListIntents | ShowIntent | CreateIntent | StartIntent | CompleteIntent | ReportDrift | DrawMap
WITH_ID: dict[str, type[ShowIntent | StartIntent | CompleteIntent]] = {
    "show": ShowIntent,
    "start": StartIntent,
    "complete": CompleteIntent,
}


def parse_intent_request(arguments: str) -> IntentRequest:
    """Parse a request. Raises `BadIntentRequest`."""
    try:
        words = shlex.split(arguments)
    except ValueError as error:
        raise BadIntentRequest(f"Unbalanced quotes: {error}.") from error
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
            return CreateIntent(_parse_new(rest))
        case [name, id] if name in WITH_ID:
            return WITH_ID[name](id)
        case [name] if name in WITH_ID:
            raise BadIntentRequest(f"{name} needs the id of an intent.")
        case _:
            raise BadIntentRequest(f"Invalid action or arguments: {words[0]!r}.")


def _parse_new(words: Sequence[str]) -> NewIntent:
    if "--" not in words:
        raise BadIntentRequest("Put -- between the name and the patterns of its files.")
    separator = list(words).index("--")
    name, patterns = " ".join(words[:separator]), tuple(words[separator + 1 :])
    if not name or not patterns:
        raise BadIntentRequest("An intent needs a name and at least one pattern.")
    return NewIntent(name=name, owned_scope=patterns)
