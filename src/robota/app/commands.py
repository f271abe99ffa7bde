"""The slash commands of a session."""

from collections.abc import Mapping, Sequence

from robota.app.provider import NO_MODEL
from robota.app.session import OpenSession
from robota.commands.builtin.provider import BuiltinCommands
from robota.commands.command import CommandProvider, SlashCommand
from robota.commands.command_session import CommandSession
from robota.commands.host import CommandHost, ProgramActions
from robota.commands.registry import CommandRegistry
from robota.commands.skill_commands import SkillCommands


def with_commands(opened: OpenSession, program: ProgramActions, env: Mapping[str, str]) -> CommandSession:
    """The session as clients hold it: with every slash command there is in this workspace."""
    host = CommandHost(
        options=opened.options,
        has_model=opened.options.model != NO_MODEL.model,
        settings=opened.settings,
        services=opened.services,
        rules=opened.policy.rules,
        kept_in=opened.kept_in,
        env=env,
        program=program,
    )

    def all_commands() -> Sequence[SlashCommand]:
        return registry.all()

    providers: list[CommandProvider] = [BuiltinCommands(opened.session, host, all_commands)]
    if opened.services.knowledge is not None:
        providers.append(SkillCommands(opened.session, opened.services.knowledge))
    registry = CommandRegistry(providers)
    return CommandSession(opened.session, registry, has_model=host.has_model)
