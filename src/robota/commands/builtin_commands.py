"""The built-in slash commands. What they are is read from an index; a family is imported when it is used."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

import msgspec

from robota.commands.command import SlashCommand
from robota.commands.host import CommandHost
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandSource, SlashCommandInfo, SubcommandInfo

# The modules of `commands/builtin`, in the order in which `/help` lists their commands.
FAMILIES: Final = (
    "conversation",
    "modes",
    "models",
    "provider_profiles",
    "usage",
    "copying",
    "rewinding",
    "context",
    "sessions",
    "workspace",
    "extensions",
    "plugins",
    "memory",
    "intents",
    "worktrees",
    "appearance",
    "output_style",
    "init",
)
# Written by `make reference`, so that a list of all commands does not import all families.
INDEX: Final = Path(__file__).with_name("builtin") / "index.json"


class IndexedCommand(msgspec.Struct, frozen=True):
    """A command, and the module of its family."""

    family: str
    info: SlashCommandInfo


class BuiltinCommands:
    """The built-in commands."""

    source = CommandSource.BUILT_IN

    def __init__(self, host: CommandHost) -> None:
        @cache
        def family(name: str) -> dict[str, SlashCommand]:
            return {command.info.name: command for command in load_family(name, host)}

        def indexed_command(indexed: IndexedCommand) -> SlashCommand:
            def loaded() -> SlashCommand:
                return family(indexed.family)[indexed.info.name]

            async def run(arguments: str) -> CommandOutcome | Refused:
                return await loaded().run(arguments)

            def complete(before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
                return loaded().complete(before)

            return SlashCommand(info=indexed.info, run=run, complete=complete, load_info=lambda: loaded().info)

        index = msgspec.json.decode(INDEX.read_bytes(), type=list[IndexedCommand])
        self._commands = tuple(map(indexed_command, index))

    def commands(self) -> Iterable[SlashCommand]:
        return self._commands


def load_family(name: str, host: CommandHost) -> Iterable[SlashCommand]:
    """The commands of a module of `commands/builtin`: those of its verbs, or those that it makes itself."""
    module = import_module(f"robota.commands.builtin.{name}")
    if not hasattr(module, "FAMILY"):
        made: Iterable[SlashCommand] = module.commands(host)
        return made
    from robota.commands.family_command import family_command

    return (family_command(module.FAMILY, host),)


def built_index(host: CommandHost) -> list[IndexedCommand]:
    """The index, from the families themselves."""
    return [IndexedCommand(name, command.info) for name in FAMILIES for command in load_family(name, host)]
