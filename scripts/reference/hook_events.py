"""The page on hook events and handlers, made from the types that read them."""

from collections.abc import Iterator

import msgspec

from robota.contracts.hook import HookEvent
from robota.hooks.definitions import ABOUT_CALLS, WITHOUT_TARGET, CommandHandler, HttpHandler
from scripts.reference.schema_tables import table

HEAD = """\
# Hook events

Generated from the program by `make reference`. [Hooks](../hooks.md) explains when they fire and what a hook can do.

| event | has a matcher | concerns a tool call |
|---|---|---|
"""


def hook_events() -> str:
    """Every event, and the fields of both kinds of handlers."""
    return HEAD + "\n".join((*_events(), *_handler("command", CommandHandler), *_handler("http", HttpHandler), ""))


def _events() -> Iterator[str]:
    for event in HookEvent:
        has_matcher = "" if event in WITHOUT_TARGET else "yes"
        yield f"| `{event}` | {has_matcher} | {'yes' if event in ABOUT_CALLS else ''} |"


def _handler(name: str, handler: type[msgspec.Struct]) -> Iterator[str]:
    _, shapes = msgspec.json.schema_components([handler])
    yield f"\n## A handler of type `{name}`\n"
    yield from table(shapes[handler.__name__])
