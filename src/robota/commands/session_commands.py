"""Adds the slash commands to a session. Their modules are loaded with the first command."""

import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from robota.app.provider import NO_MODEL
from robota.app.session import OpenSession
from robota.commands.command_session import CommandSession
from robota.config.launch_options import PromptAuthor
from robota.protocol.commands import CompletePrompt
from robota.protocol.completion import PromptCompletion
from robota.protocol.slash_commands import CommandSource

if TYPE_CHECKING:
    from robota.commands.command import CommandProvider
    from robota.commands.completion.completer import Completer
    from robota.commands.host import CommandHost
    from robota.commands.registry import CommandRegistry
    from robota.log.kinds.calls import AnsweredBy


def with_commands(
    opened: OpenSession, env: Mapping[str, str], client: str = "robota", *, attended: bool | None = None
) -> CommandSession:
    """Wrap a session for a client of this process, with all slash commands of the workspace.

    `attended` says whether somebody wants what commands change, if that is not known from the launch options.
    """

    @cache
    def host() -> "CommandHost":
        from robota.commands.host import CommandHost

        return CommandHost(opened=opened, env=env, all_commands=lambda: registry().all())

    @cache
    def registry() -> "CommandRegistry":
        return _registry(opened, host())

    @cache
    def completer() -> "Completer":
        return _completer(registry(), opened, host())

    @cache
    def speaker() -> "AnsweredBy":
        from robota.commands.speaking import speaker_of

        return speaker_of(os.getpid(), client)

    async def complete(request: CompletePrompt) -> PromptCompletion:
        return await completer().complete(request.text, request.caret, request.limit)

    return CommandSession(
        opened.session,
        registry,
        complete,
        speaker,
        has_model=opened.options.model != NO_MODEL.model,
        attended=opened.options.launch.attended if attended is None else attended,
        is_of_user=opened.options.launch.prompt_author is PromptAuthor.USER,
    )


def _registry(opened: OpenSession, host: "CommandHost") -> "CommandRegistry":
    from robota.commands.builtin_commands import BuiltinCommands
    from robota.commands.registry import CommandRegistry, PromptCommands

    providers: list[CommandProvider] = [BuiltinCommands(host)]
    services = opened.services
    if own := opened.options.launch.additions.commands:
        from robota.commands.registry import ProgramCommands

        providers.append(ProgramCommands(own))
    if services.knowledge is not None:
        providers.append(PromptCommands(opened.session, CommandSource.SKILL, services.knowledge.commands))
    if services.prompts is not None:
        providers.append(PromptCommands(opened.session, CommandSource.MCP, services.prompts.commands))
    return CommandRegistry(providers)


def _completer(registry: "CommandRegistry", opened: OpenSession, host: "CommandHost") -> "Completer":
    from robota.commands.completion.command_words import CommandWords
    from robota.commands.completion.completer import Completer
    from robota.commands.completion.mention_words import MentionWords
    from robota.knowledge.mentions.parsing import MENTION_WORDS, SESSION
    from robota.workspace.search.file_list import FileList

    def words(typed: str) -> Mapping[str, str]:
        if typed.startswith(SESSION):
            from robota.commands.stored_sessions import StoredSessions

            sessions = {f"{SESSION}{id}": title for id, title in StoredSessions(host).newest().items()}
        else:
            sessions = MENTION_WORDS
        return {name: description for name, description in sessions.items() if name.startswith(typed)}

    files = opened.services.files
    return Completer(CommandWords(registry), MentionWords(files, FileList(files.root), words))
