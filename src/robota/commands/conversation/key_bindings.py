"""`/keys`: what each key does, which are the user's own, and what is wrong with the file."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final

from robota.clients.tui.key_table import BoundAction
from robota.clients.tui.personal.own_keys import OwnKeys, key_help, own_lines
from robota.commands.command import SlashCommand, wrong_arguments
from robota.commands.effect import reads
from robota.commands.host import CommandHost
from robota.commands.personal.own_keys import load_keys
from robota.config.appearance_files import key_bindings_path
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandShown, SlashCommandInfo
from robota.protocol.views import TableView

KEYS: Final = SlashCommandInfo(name="keys", description="show all keys, and which of them you have changed")


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/keys`."""

    async def keys(arguments: str) -> CommandOutcome | Refused:
        if arguments:
            return wrong_arguments(KEYS, "/keys takes no arguments.")
        own = await asyncio.to_thread(load_keys, host.env)
        rows = tuple(_rows(own, str(key_bindings_path(host.env))))
        return CommandShown(view=TableView(columns=(), rows=rows))

    yield SlashCommand(info=KEYS, run=keys, effect=reads)


def _rows(own: OwnKeys, path: str) -> Iterator[tuple[str, str]]:
    for problem in own.problems:
        yield "!", f"{path}: {problem}"
    yield from key_help(own.bindings)
    yield "", ""
    yield "Your own", f"from {path}; a change applies at the next start"
    changed = list(own_lines(own.bindings))
    yield from changed or [("", 'none, for example: {"ctrl+t": "transcript", "ctrl+o": null}')]
    yield "", f"Actions: {', '.join(BoundAction)}"
