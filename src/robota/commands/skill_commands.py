"""Skills and prompt commands as slash commands: the line goes to the task, which puts the skill in its place."""

from collections.abc import Iterable

from robota.commands.command import Run, SlashCommand, told
from robota.contracts.knowledge import KnowledgeService
from robota.engine.session.session import Session
from robota.protocol.commands import NewTask, QueueMessage, Refused
from robota.protocol.slash_commands import CommandOutcome, CommandSource, CommandStarted, SlashCommandInfo


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
            is_working = self._session.is_working
            has_task = self._session.state().current_task_id is not None
            receipt = await self._session.submit(QueueMessage(text=line) if has_task else NewTask(text=line))
            if isinstance(receipt, Refused):
                return receipt
            return told(f"queued: {line}") if is_working else CommandStarted()

        return run
