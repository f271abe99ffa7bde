"""Finding a slash command by what was typed. A built-in command is never hidden by another of the same name."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from robota.commands.command import CommandProvider, SlashCommand
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandSource

# Of two commands with one name, the one whose source stands first is meant.
PRECEDENCE: Final = (
    CommandSource.BUILT_IN,
    CommandSource.PROJECT,
    CommandSource.USER,
    CommandSource.SKILL,
    CommandSource.PLUGIN,
    CommandSource.MCP,
)


class CommandRegistry:
    """The commands of every provider."""

    def __init__(self, providers: Sequence[CommandProvider]) -> None:
        self._providers = sorted(providers, key=lambda provider: PRECEDENCE.index(provider.source))

    def all(self) -> Sequence[SlashCommand]:
        """Every command that can be reached by its name, in the order of their sources."""
        return tuple(_by_name(self._found()).values())

    def find(self, name: str) -> SlashCommand | Refused:
        """The command of this name or alias; a refusal names what was probably meant."""
        known = {alias: command for command in reversed(self.all()) for alias in _names(command)}
        command = known.get(name) or known.get(name.lower())
        if command is not None:
            return command
        near = get_close_matches(name.lower(), known, n=1)
        meant = f"Did you mean /{near[0]}?" if near else "/help lists them."
        return Refused(code="unknown_command", message=f"There is no command /{name}. {meant}")

    def _found(self) -> Iterable[SlashCommand]:
        for provider in self._providers:
            yield from provider.commands()


def _by_name(commands: Iterable[SlashCommand]) -> Mapping[str, SlashCommand]:
    reachable: dict[str, SlashCommand] = {}
    for command in commands:
        reachable.setdefault(command.info.name, command)
    return reachable


def _names(command: SlashCommand) -> tuple[str, ...]:
    return (command.info.name, *command.info.aliases)
