"""Wraps a session so that it also runs slash commands and completes prompts."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING, Final, assert_never

from robota.engine.session.decision import answered
from robota.engine.session.session import Session
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    Command,
    CompletePrompt,
    ListSlashCommands,
    QueueMessage,
    Receipt,
    Refused,
    RunSlashCommand,
)
from robota.protocol.completion import PromptCompletion
from robota.protocol.events import Event
from robota.protocol.slash_commands import CommandList, CommandSource, SlashCommandInfo, typed_order

if TYPE_CHECKING:
    from robota.commands.command import SlashCommand
    from robota.commands.registry import CommandRegistry
    from robota.log.kinds.calls import AnsweredBy

CompletePromptHandler = Callable[[CompletePrompt], Awaitable[PromptCompletion]]
MCP_PROMPT_PREFIX = "mcp__"
# Skills and prompt files bring rules with them.
WITHOUT_RULES: Final = frozenset({CommandSource.BUILT_IN, CommandSource.PROGRAM, CommandSource.MCP})
MAY_GRANT: Final = (
    "/{name} may allow calls for the turn, and it came as a prompt of another program, which may be a text of somebody "
    "else. Nothing was changed. In the window of the session, its user can type it."
)
NO_COMMAND = Refused(code="no_command", message="A command is a slash and a name, for example /help.")


class CommandSession:
    """Runs slash commands from the registry, and passes every other command to the engine."""

    def __init__(
        self,
        session: Session,
        load_registry: "Callable[[], CommandRegistry]",
        complete: CompletePromptHandler,
        speaker: "Callable[[], AnsweredBy]",
        *,
        has_model: bool,
        attended: bool,
        is_of_user: bool,
    ) -> None:
        """The registry is loaded with the first command; `speaker` says who gives the answers.

        Without a model, commands that need one are refused; where nobody attends, those that change something. If the
        session `is_of_user`, a skill that its prompts name grants what it wants.
        """
        self._session = session
        self._load_registry = load_registry
        self._complete = complete
        self._speaker = speaker
        self._has_model = has_model
        self._attended = attended
        self._is_of_user = is_of_user

    @cached_property
    def _registry(self) -> "CommandRegistry":
        return self._load_registry()

    @property
    def commands(self) -> tuple[SlashCommandInfo, ...]:
        """All current slash commands."""
        return tuple(command.full_info for command in self._registry.all())

    async def submit(self, command: Command, speaker: "AnsweredBy | None" = None) -> Receipt:
        """Answer a command of this client, or of another `speaker`."""
        match command:
            case RunSlashCommand() | ListSlashCommands() | CompletePrompt():
                return await answered(command, self._receipt(command))
            case AskResponse() | QueueMessage():  # a queued message may answer a question
                return await self._session.submit(command, speaker or self._speaker())
            case _:
                return await self._session.submit(command)

    async def _receipt(self, command: RunSlashCommand | ListSlashCommands | CompletePrompt) -> Receipt:
        match command:
            case RunSlashCommand(line=line, as_prompt=as_prompt):
                return await self._run(line, as_prompt=as_prompt)
            case ListSlashCommands():
                return Accepted(outcome=CommandList(commands=self.commands))
            case CompletePrompt():
                return Accepted(completion=await self._complete(command))
            case _:
                assert_never(command)

    def events(self) -> AsyncIterator[Event]:
        return self._session.events()

    async def _run(self, line: str, *, as_prompt: bool) -> Receipt:
        typed = typed_order(line)
        if typed is None:
            return NO_COMMAND
        command = self._registry.find(typed.name)
        if isinstance(command, Refused) and typed.name.startswith(MCP_PROMPT_PREFIX):
            # The prompts of a server are known once it has started.
            await self._session.gather_tools()
            command = self._registry.find(typed.name)
        if isinstance(command, Refused):
            return command
        if typed.arguments and not command.info.takes_arguments:
            return self._registry.refuse_arguments(command, typed.arguments)
        if command.info.needs_model and not self._has_model:
            return Refused(
                code="no_provider", message=f"/{command.info.name} needs a model, and no provider is configured."
            )
        if self._session.is_working and not command.info.while_working:
            return Refused(
                code="task_busy",
                message=f"/{command.info.name} is not available while the agent is working. Nothing was changed.",
            )
        if (refusal := self._refusal_of_change(command, typed.arguments, as_prompt=as_prompt)) is not None:
            return refusal
        outcome = await command.run(typed.arguments)
        return outcome if isinstance(outcome, Refused) else Accepted(outcome=outcome)

    def _refusal_of_change(self, command: "SlashCommand", arguments: str, *, as_prompt: bool) -> Refused | None:
        """The refusal of what would change something, if nobody is known to want it.

        Commands of the program that opened the session are its own: it knows which texts it sends as prompts.
        """
        is_own = command.info.source is CommandSource.PROGRAM
        if self._attended and (is_own or not as_prompt):
            return None
        if as_prompt and self._is_of_user and command.info.source not in WITHOUT_RULES:
            return Refused(code="unattended", message=MAY_GRANT.format(name=command.info.name))
        return self._registry.refuse_unattended(command, arguments)
