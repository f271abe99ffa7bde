"""The verb `hooks`: the hooks of the settings and of plugins."""

from collections.abc import Iterator
from typing import Final

from robota.app.extensions import session_plugins
from robota.commands.verb import Answer, Family, NoArguments, ReadingVerb, table
from robota.commands.verb_host import VerbHost
from robota.config.settings.load import load_settings
from robota.hooks.definitions import parse_hooks
from robota.text.visible import single_line

MAX_CELL: Final = 200
COLUMNS: Final = ("EVENT", "FOR", "OF", "KIND", "RUNS")


def _list(host: VerbHost, _: NoArguments) -> Answer:
    rows = list(_rows(host))
    names = ("event", "matcher", "owner", "kind", "runs")
    data = [dict(zip(names, row, strict=True)) for row in rows]
    cells = (tuple(single_line(cell, MAX_CELL) for cell in row) for row in rows)
    return table(COLUMNS, cells, data, nothing="There are no hooks here.")


def _rows(host: VerbHost) -> Iterator[tuple[str, ...]]:
    settings = load_settings(host.root, host.env)
    plugins, _ = session_plugins(settings, host.root, host.env)
    owners = [
        *((plugin.name, plugin.contents.hook_settings) for plugin in plugins),
        ("settings", settings.values.hooks),
    ]
    for owner, hooks in owners:
        parsed = parse_hooks(hooks)
        for rule in parsed.rules:
            for handler in rule.handlers:
                kind = type(handler).__name__.removesuffix("Handler").lower()
                yield (rule.event, rule.matcher or "all", owner, kind, handler.name)
        yield from (
            (event, "", owner, "", "nothing: this event never occurs in Robota") for event in parsed.never_fired
        )


FAMILY: Final = Family(
    name="hooks",
    about="Show the hooks of the settings and of plugins, and what each runs.",
    description="show the hooks and what each runs",
    main=ReadingVerb("hooks", "show the hooks and what each runs", NoArguments, _list),
)
