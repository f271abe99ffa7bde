"""The provider of all built-in commands."""

from collections.abc import Callable, Iterable, Sequence

from robota.commands.builtin.appearance import appearance_commands
from robota.commands.builtin.context import context_commands
from robota.commands.builtin.conversation import conversation_commands
from robota.commands.builtin.copying import copy_commands
from robota.commands.builtin.extensions import extension_commands
from robota.commands.builtin.init import init_commands
from robota.commands.builtin.intents import intent_commands
from robota.commands.builtin.memory import memory_commands
from robota.commands.builtin.models import model_commands
from robota.commands.builtin.modes import mode_commands
from robota.commands.builtin.output_style import output_style_commands
from robota.commands.builtin.plugins import plugin_commands
from robota.commands.builtin.provider_profiles import provider_commands
from robota.commands.builtin.rewinding import rewind_commands
from robota.commands.builtin.sessions import other_session_commands, own_session_commands
from robota.commands.builtin.usage import usage_commands
from robota.commands.builtin.workspace import workspace_commands
from robota.commands.command import SlashCommand
from robota.commands.host import CommandHost
from robota.engine.session.session import Session
from robota.protocol.slash_commands import CommandSource


class BuiltinCommands:
    """The built-in commands."""

    source = CommandSource.BUILT_IN

    def __init__(self, session: Session, host: CommandHost, all_commands: Callable[[], Sequence[SlashCommand]]) -> None:
        self._commands = (
            *conversation_commands(session, all_commands),
            *mode_commands(session, host.services.modes, host.rules),
            *model_commands(host),
            *provider_commands(host),
            *usage_commands(session),
            *copy_commands(session),
            *rewind_commands(session),
            *context_commands(session),
            *own_session_commands(session, host),
            *other_session_commands(host),
            *workspace_commands(session, host),
            *extension_commands(session, host),
            *plugin_commands(host),
            *memory_commands(host),
            *intent_commands(host),
            *appearance_commands(host),
            *output_style_commands(host),
            *init_commands(session),
        )

    def commands(self) -> Iterable[SlashCommand]:
        return self._commands
