"""Skills and prompt commands as slash commands: the line goes to the task, which puts the skill in its place."""

from collections.abc import Iterable

from robota.commands.command import Run, SlashCommand, send_prompt
from robota.contracts.knowledge import KnowledgeService
from robota.engine.session.session import Session
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandSource, SlashCommandInfo


class SkillCommands:
    """The commands that files of the project and the person define."""

    source = CommandSource.SKILL

    def __init__(self, session: Session, knowledge: KnowledgeService) -> None:
        self._session = session
        self._knowledge = knowledge

    def commands(self) -> Iterable[SlashCommand]:
        for info in self._knowledge.commands():
            yield SlashCommand(info=info, run=self._run(info))

    def _run(self, info: SlashCommandInfo) -> Run:
        async def run(arguments: str) -> CommandOutcome | Refused:
            line = f"/{info.name} {arguments}".strip()
            return await send_prompt(self._session, line, line)

        return run
