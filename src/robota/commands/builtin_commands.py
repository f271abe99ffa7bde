"""The built-in slash commands. They are listed in an index; a family is imported when it is used."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Final

from robota.commands.command import SlashCommand
from robota.commands.command_index import IndexedCommand, indexed_commands
from robota.commands.effect import Effect
from robota.commands.host import CommandHost
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandSource, SubcommandInfo

# The modules of `commands`, in the order in which `/help` lists their commands.
MODULES: Final = (
    "conversation.conversation",
    "conversation.modes",
    "conversation.models",
    "conversation.provider_profiles",
    "conversation.usage",
    "families.proof.cost",
    "conversation.copying",
    "families.rewinding",
    "families.context",
    "conversation.this_session",
    "families.sessions",
    "families.state",
    "conversation.workspace",
    "conversation.background",
    "conversation.agents",
    "families.proof.why",
    "families.proof.audit",
    "families.proof.report",
    "families.proof.trace",
    "families.doctor",
    "families.mcp",
    "families.hooks",
    "families.skills",
    "families.agents",
    "families.tool",
    "families.instructions",
    "families.trust",
    "families.policy",
    "families.config",
    "families.plugins",
    "families.memory",
    "families.intents",
    "families.worktrees",
    "conversation.appearance",
    "conversation.key_bindings",
    "conversation.output_style",
)


class BuiltinCommands:
    """The built-in commands."""

    source = CommandSource.BUILT_IN

    def __init__(self, host: CommandHost) -> None:
        @cache
        def module(name: str) -> dict[str, SlashCommand]:
            return {command.info.name: command for command in load_commands(name, host)}

        def indexed_command(indexed: IndexedCommand) -> SlashCommand:
            def loaded() -> SlashCommand:
                return module(indexed.module)[indexed.info.name]

            async def run(arguments: str) -> CommandOutcome | Refused:
                return await loaded().run(arguments)

            def complete(before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
                return loaded().complete(before)

            def effect(arguments: str) -> Effect:
                return loaded().effect(arguments)

            return SlashCommand(
                info=indexed.info, run=run, effect=effect, complete=complete, load_info=lambda: loaded().info
            )

        self._commands = tuple(map(indexed_command, indexed_commands()))

    def commands(self) -> Iterable[SlashCommand]:
        return self._commands


def load_commands(name: str, host: CommandHost) -> Iterable[SlashCommand]:
    """The commands of a module of `commands`: that of its verbs, and those that it makes itself."""
    module = import_module(f"robota.commands.{name}")
    if hasattr(module, "FAMILY"):
        from robota.commands.family_command import family_command

        yield family_command(module.FAMILY, host)
    if hasattr(module, "commands"):
        yield from module.commands(host)


def built_index(host: CommandHost) -> list[IndexedCommand]:
    """The index, from the families themselves."""
    return [IndexedCommand(name, command.info) for name in MODULES for command in load_commands(name, host)]
