"""Adds the slash commands to a session. Their modules are loaded with the first command."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from robota.app.provider import NO_MODEL
from robota.app.session import OpenSession
from robota.commands.command_session import CommandSession
from robota.protocol.commands import CompletePrompt
from robota.protocol.completion import PromptCompletion
from robota.protocol.slash_commands import CommandSource

if TYPE_CHECKING:
    from robota.commands.command import CommandProvider, SlashCommand
    from robota.commands.completion.completer import Completer
    from robota.commands.host import CommandHost, ProgramActions
    from robota.commands.registry import CommandRegistry
    from robota.knowledge.output_styles import OutputStyle


def with_commands(opened: OpenSession, program: "ProgramActions", env: Mapping[str, str]) -> CommandSession:
    """Wrap a session for clients, with all slash commands of the workspace."""

    @cache
    def host() -> "CommandHost":
        return command_host(opened, program, env, lambda: registry().all())

    @cache
    def registry() -> "CommandRegistry":
        return _registry(opened, host())

    @cache
    def completer() -> "Completer":
        return _completer(registry(), opened, host())

    async def complete(wanted: CompletePrompt) -> PromptCompletion:
        return await completer().complete(wanted.text, wanted.caret, wanted.limit)

    return CommandSession(opened.session, registry, complete, has_model=_has_model(opened))


def command_host(
    opened: OpenSession,
    program: "ProgramActions",
    env: Mapping[str, str],
    all_commands: "Callable[[], Sequence[SlashCommand]]",
) -> "CommandHost":
    """What commands can use in a session."""
    from robota.commands.host import CommandHost

    return CommandHost(
        session=opened.session,
        all_commands=all_commands,
        options=opened.options,
        has_model=_has_model(opened),
        settings=opened.settings,
        services=opened.services,
        rules=opened.policy.rules,
        kept_in=opened.kept_in,
        env=env,
        program=program,
        plugins=opened.plugins,
        styles=lambda: _styles(opened, env),
    )


def _has_model(opened: OpenSession) -> bool:
    return opened.options.model != NO_MODEL.model


def _registry(opened: OpenSession, host: "CommandHost") -> "CommandRegistry":
    from robota.commands.builtin_commands import BuiltinCommands
    from robota.commands.prompt_commands import PromptCommands
    from robota.commands.registry import CommandRegistry

    providers: list[CommandProvider] = [BuiltinCommands(host)]
    services = opened.services
    if services.knowledge is not None:
        providers.append(PromptCommands(opened.session, CommandSource.SKILL, services.knowledge.commands))
    if services.prompts is not None:
        providers.append(PromptCommands(opened.session, CommandSource.MCP, services.prompts.commands))
    return CommandRegistry(providers)


def _styles(opened: OpenSession, env: Mapping[str, str]) -> "Sequence[OutputStyle]":
    from robota.app.knowledge.output_styles import output_styles

    return output_styles(opened.settings, opened.plugins, opened.options.cwd, env)


def _completer(registry: "CommandRegistry", opened: OpenSession, host: "CommandHost") -> "Completer":
    from robota.commands.completion.command_words import CommandWords
    from robota.commands.completion.completer import Completer
    from robota.commands.completion.mention_words import MentionWords
    from robota.knowledge.mentions.parsing import MENTION_WORDS, SESSION
    from robota.workspace.search.file_list import FileList

    def words(typed: str) -> Mapping[str, str]:
        if typed.startswith(SESSION):
            from robota.commands.stored_sessions import StoredSessions

            known = {f"{SESSION}{id}": title for id, title in StoredSessions(host).newest().items()}
        else:
            known = MENTION_WORDS
        return {name: description for name, description in known.items() if name.startswith(typed)}

    files = opened.services.files
    return Completer(CommandWords(registry), MentionWords(files, FileList(files.root), words))
