"""Resolves typed names to slash commands. Built-in commands take precedence over all others."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from robota.commands.command import CommandProvider, Run, SlashCommand, send_prompt, wrong_arguments
from robota.engine.session.session import Session
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandSource, SlashCommandInfo

# If two commands have the same name, the source that comes first here wins.
PRECEDENCE: Final = (
    CommandSource.BUILT_IN,
    CommandSource.PROJECT,
    CommandSource.USER,
    CommandSource.SKILL,
    CommandSource.PLUGIN,
    CommandSource.MCP,
)

# Names in other agents, and what to use here.
ELSEWHERE: Final = {
    "agents": "Agents are not supported yet.",
    "bisect": "It runs a test many times, so it works only in a shell: robota bisect",
    "bug": "/report packs this session for a bug report.",
    "checkpoint": "/rewind list shows the points you can rewind to.",
    "checkpoints": "/rewind list shows the points you can rewind to.",
    "login": "To save an API key, run in a shell: robota login; or use /provider add here.",
    "logout": "To remove an API key, run in a shell: robota logout",
    "redo": "Did you mean /rewind redo?",
    "replay": "It runs a whole session again, so it works only in a shell: robota replay",
    "restore": "Did you mean /rewind restore?",
    "undo": "Did you mean /rewind undo?",
    "vim": "To use vi keys in the input, set ROBOTA_KEYS=vi in the environment.",
}


class PromptCommands:
    """A provider of commands that expand to prompts, from files or MCP servers."""

    def __init__(
        self, session: Session, source: CommandSource, list_commands: Callable[[], Iterable[SlashCommandInfo]]
    ) -> None:
        self.source = source
        self._session = session
        self._list_commands = list_commands

    def commands(self) -> Iterable[SlashCommand]:
        for info in self._list_commands():
            yield SlashCommand(info=info, run=self._run(info))

    def _run(self, info: SlashCommandInfo) -> Run:
        async def run(arguments: str) -> CommandOutcome | Refused:
            return await send_prompt(self._session, f"/{info.name} {arguments}".strip())

        return run


class CommandRegistry:
    """The commands of all providers."""

    def __init__(self, providers: Sequence[CommandProvider]) -> None:
        self._providers = sorted(providers, key=lambda provider: PRECEDENCE.index(provider.source))

    def all(self) -> Sequence[SlashCommand]:
        """All commands that their name resolves to, in order of precedence."""
        return tuple(_by_name(self._found()).values())

    def find(self, name: str) -> SlashCommand | Refused:
        """The command of this name or alias, or a refusal with a suggestion."""
        known = {alias: command for command in reversed(self.all()) for alias in _names(command)}
        command = known.get(name) or known.get(name.lower())
        if command is not None:
            return command
        near = get_close_matches(name.lower(), known, n=1)
        suggestion = ELSEWHERE.get(name.lower()) or (f"Did you mean /{near[0]}?" if near else "/help lists them.")
        return Refused(code="unknown_command", message=f"There is no command /{name}. {suggestion}")

    def refuse_arguments(self, command: SlashCommand, arguments: str) -> Refused:
        """The refusal of arguments that would be lost, because the command takes none."""
        return wrong_arguments(command.info, f"/{command.info.name} takes no arguments.")

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
