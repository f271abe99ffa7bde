"""Resolves typed names to slash commands.

Built-in commands take precedence over all others: typing `/trust` must never run a file of the repository. A command
that is hidden in this way keeps a name of its own, such as `/project:trust`.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, assert_never

import msgspec

from robota.commands.command import CommandProvider, Run, SlashCommand, send_prompt, shown_text, wrong_arguments
from robota.commands.command_index import own_name
from robota.commands.effect import MakesChanges, Prompts, Reads, changes, prompts, reads
from robota.engine.session.session import Session
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandSource, SlashCommandInfo

# If two commands have the same name, the source that comes first here wins.
PRECEDENCE: Final = (
    CommandSource.BUILT_IN,
    CommandSource.PROGRAM,
    CommandSource.PROJECT,
    CommandSource.USER,
    CommandSource.SKILL,
    CommandSource.PLUGIN,
    CommandSource.MCP,
)

# Names in other agents, and what to use here.
ELSEWHERE: Final = {
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
ATTENDED: Final = "/{name} in an attended session"
UNATTENDED: Final = (
    "This use of /{name} changes something, and it came as a prompt, which may come from somebody else. Nothing was "
    "changed. If you want it, run: {instead}"
)


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
            yield SlashCommand(info=info, run=self._run(info), effect=prompts)

    def _run(self, info: SlashCommandInfo) -> Run:
        async def run(arguments: str) -> CommandOutcome | Refused:
            return await send_prompt(self._session, f"/{info.name} {arguments}".strip())

        return run


class OwnCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A slash command of a program that embeds Robota. `run` gets the text after its name and returns what is shown.

    In an unattended session, it runs only if it `reads_only`, because the prompt may come from somebody else.
    """

    name: str
    description: str
    run: Callable[[str], Awaitable[str]]
    argument_hint: str = ""
    reads_only: bool = False


class ProgramCommands:
    """Provides the commands that the program has given."""

    source = CommandSource.PROGRAM

    def __init__(self, own: Sequence[OwnCommand]) -> None:
        self._own = own

    def commands(self) -> Iterable[SlashCommand]:
        for command in self._own:
            info = SlashCommandInfo(
                name=command.name,
                description=command.description,
                source=self.source,
                argument_hint=command.argument_hint,
            )
            effect = reads if command.reads_only else changes(ATTENDED.format(name=command.name))
            yield SlashCommand(info=info, run=_running(command), effect=effect)


class CommandRegistry:
    """The commands of all providers."""

    def __init__(self, providers: Sequence[CommandProvider]) -> None:
        self._providers = sorted(providers, key=lambda provider: PRECEDENCE.index(provider.source))

    def all(self) -> Sequence[SlashCommand]:
        """All commands that their name resolves to, in order of precedence."""
        return tuple(_by_name(self._provided()).values())

    def find(self, name: str) -> SlashCommand | Refused:
        """The command of this name or alias, or a refusal with a suggestion."""
        by_name = {alias: command for command in reversed(self.all()) for alias in _names(command)}
        command = by_name.get(name) or by_name.get(name.lower())
        if command is not None:
            return command
        near = get_close_matches(name.lower(), by_name, n=1)
        suggestion = ELSEWHERE.get(name.lower()) or (f"Did you mean /{near[0]}?" if near else "/help lists them.")
        return Refused(code="unknown_command", message=f"There is no command /{name}. {suggestion}")

    def refuse_arguments(self, command: SlashCommand, arguments: str) -> Refused:
        """The refusal of arguments that would be lost, because the command takes none."""
        return wrong_arguments(command.info, f"/{command.info.name} takes no arguments.")

    def refuse_unattended(self, command: SlashCommand, arguments: str) -> Refused | None:
        """The refusal of what would change something where nobody attends; None if it may run."""
        effect = command.effect(arguments)
        match effect:
            case Reads() | Prompts():
                return None
            case MakesChanges(instead=instead):
                return Refused(code="unattended", message=UNATTENDED.format(name=command.info.name, instead=instead))
            case _:
                assert_never(effect)

    def _provided(self) -> Iterable[SlashCommand]:
        for provider in self._providers:
            yield from provider.commands()


def _by_name(commands: Iterable[SlashCommand]) -> Mapping[str, SlashCommand]:
    """The commands by name. One whose name a built-in command has is found under the name of its source, too."""
    reachable: dict[str, SlashCommand] = {}
    for command in commands:
        first = reachable.setdefault(command.info.name, command)
        if first.info.source is CommandSource.BUILT_IN and command.info.source is not CommandSource.BUILT_IN:
            info = msgspec.structs.replace(
                command.info, name=own_name(command.info.source, command.info.name), aliases=()
            )
            reachable.setdefault(info.name, msgspec.structs.replace(command, info=info))
    return reachable


def _names(command: SlashCommand) -> tuple[str, ...]:
    return (command.info.name, *command.info.aliases)


def _running(command: OwnCommand) -> Run:
    async def run(arguments: str) -> CommandOutcome | Refused:
        try:
            return shown_text(await command.run(arguments))
        except Exception as error:  # noqa: BLE001 - a boundary: code of the program must not end the session
            return Refused(code="command_failed", message=f"/{command.name} failed: {type(error).__name__}: {error}")

    return run
