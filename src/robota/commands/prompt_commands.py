"""Slash commands that stand for a prompt: the line goes to the task, which puts the prompt in its place."""

from collections.abc import Callable, Iterable

from robota.commands.command import Run, SlashCommand, send_prompt
from robota.engine.session.session import Session
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandSource, SlashCommandInfo


class PromptCommands:
    """Commands that stand for prompts: of files of the project and the person, or of MCP servers."""

    def __init__(
        self, session: Session, source: CommandSource, offered: Callable[[], Iterable[SlashCommandInfo]]
    ) -> None:
        self.source = source
        self._session = session
        self._offered = offered

    def commands(self) -> Iterable[SlashCommand]:
        for info in self._offered():
            yield SlashCommand(info=info, run=self._run(info))

    def _run(self, info: SlashCommandInfo) -> Run:
        async def run(arguments: str) -> CommandOutcome | Refused:
            return await send_prompt(self._session, f"/{info.name} {arguments}".strip())

        return run
