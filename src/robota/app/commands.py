"""The slash commands of a session."""

from collections.abc import Sequence

from robota.app.provider import NO_MODEL
from robota.app.session import OpenSession
from robota.commands.builtin.provider import BuiltinCommands
from robota.commands.command import SlashCommand
from robota.commands.command_session import CommandSession
from robota.commands.registry import CommandRegistry


def with_commands(opened: OpenSession) -> CommandSession:
    """The session as clients hold it: with every slash command there is in this workspace."""

    def all_commands() -> Sequence[SlashCommand]:
        return registry.all()

    registry = CommandRegistry([BuiltinCommands(opened.session, opened.services.modes, all_commands)])
    return CommandSession(opened.session, registry, has_model=opened.options.model != NO_MODEL.model)
