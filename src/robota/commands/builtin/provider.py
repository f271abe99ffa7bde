"""All built-in commands, as one provider of the registry."""

from collections.abc import Callable, Iterable, Sequence

from robota.commands.builtin.context import context_commands
from robota.commands.builtin.conversation import conversation_commands
from robota.commands.builtin.modes import mode_commands
from robota.commands.builtin.rewinding import rewind_commands
from robota.commands.builtin.usage import usage_commands
from robota.commands.command import SlashCommand
from robota.contracts.services import ModeService
from robota.engine.session.session import Session
from robota.protocol.slash_commands import CommandSource


class BuiltinCommands:
    """The commands that every session has."""

    source = CommandSource.BUILT_IN

    def __init__(
        self, session: Session, modes: ModeService, all_commands: Callable[[], Sequence[SlashCommand]]
    ) -> None:
        self._commands = (
            *conversation_commands(session, all_commands),
            *mode_commands(session, modes),
            *usage_commands(session),
            *rewind_commands(session),
            *context_commands(session),
        )

    def commands(self) -> Iterable[SlashCommand]:
        return self._commands
