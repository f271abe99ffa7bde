"""Slash commands that expand to a prompt: the line is sent to the task, which expands it."""

from collections.abc import Callable, Iterable

from robota.commands.command import Run, SlashCommand, send_prompt
from robota.engine.session.session import Session
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandSource, SlashCommandInfo


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
