"""Commands about the session of a conversation: rename, export and fork it, search and resume others."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from robota.commands.command import SlashCommand, shown_text, wrong_arguments
from robota.commands.effect import changes, reads
from robota.commands.families.sessions import ExportSession, ForkSession
from robota.commands.host import CommandHost
from robota.config.errors import ConfigError
from robota.log.errors import LogError
from robota.log.kinds.session import kept_name
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import (
    CommandChoice,
    CommandOutcome,
    SessionWanted,
    SlashCommandInfo,
    SubcommandInfo,
)

if TYPE_CHECKING:
    from robota.commands.stored_sessions import StoredSessions

FORMATS_BY_SUFFIX: Final = {".md": "markdown", ".html": "html", ".jsonl": "stream-json", ".zip": "bundle"}
FORMATS: Final = {
    "markdown": "to read",
    "html": "a page",
    "stream-json": "as print mode prints it",
    "bundle": "for another machine",
}
# Used by the preview in the list of sessions.
PREVIEW_OPTION: Final = "--show "
RENAME: Final = SlashCommandInfo(name="rename", argument_hint="NAME", description="give this session a name")
EXPORT: Final = SlashCommandInfo(
    name="export",
    argument_hint="[FORMAT] [PATH]",
    description="export this session to a file; user names, paths and secrets are redacted",
    subcommands=tuple(SubcommandInfo(name=name, description=text) for name, text in FORMATS.items()),
)
SEARCH: Final = SlashCommandInfo(
    name="search", argument_hint="WORDS", description="search earlier sessions of this directory"
)
RESUME: Final = SlashCommandInfo(
    name="resume",
    argument_hint="[ID | WORDS]",
    description="switch to another session of this directory",
    while_working=False,
)
FORK: Final = SlashCommandInfo(
    name="fork",
    argument_hint="[NAME]",
    description="continue in a copy of this session",
    while_working=False,
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/rename`, `/export`, `/fork`, `/search` and `/resume`."""
    yield from _own_session_commands(host)
    yield from _other_session_commands(host)


def _own_session_commands(host: CommandHost) -> Iterable[SlashCommand]:
    session = host.session

    async def rename(arguments: str) -> CommandOutcome | Refused:
        name = kept_name(arguments)
        if not name:
            return wrong_arguments(RENAME, "Give the new name.")
        session.rename(name)
        return shown_text(f"This session is now called {name}.")

    async def export(arguments: str) -> CommandOutcome | Refused:
        try:
            from robota.commands.sessions.exporting import export_session

            answer = await asyncio.to_thread(export_session, host, _export_arguments(arguments))
            return answer.outcome
        except (ConfigError, LogError) as error:
            return Refused(code="not_exported", message=str(error))

    async def fork(arguments: str) -> CommandOutcome | Refused:
        state = session.state()
        if state.current_task_id is None or state.log_path is None:
            return Refused(code="nothing_to_fork", message="This session is empty. Nothing was copied.")
        from robota.commands.sessions.changing import fork_session

        request = ForkSession(session=state.session_id, name=kept_name(arguments) or None)
        try:
            copy = await asyncio.to_thread(fork_session, host, request)
        except LogError as error:
            return Refused(code="not_forked", message=str(error))
        return SessionWanted(session_id=copy.data["id"])

    yield SlashCommand(info=RENAME, run=rename, effect=changes("robota sessions rename SESSION NAME"))
    yield SlashCommand(info=EXPORT, run=export, effect=changes("robota sessions export SESSION --output FILE"))
    yield SlashCommand(info=FORK, run=fork, effect=changes("robota sessions fork SESSION"))


def _other_session_commands(host: CommandHost) -> Iterable[SlashCommand]:
    async def search(arguments: str) -> CommandOutcome | Refused:
        if not any(map(str.isalnum, arguments)):
            return wrong_arguments(SEARCH, "Give search words with letters or digits.")
        options = await asyncio.to_thread(_stored(host).search, arguments)
        if not options:
            return shown_text("No other session of this directory matches.")
        return CommandChoice(title="Matching sessions:", options=options)

    async def resume(arguments: str) -> CommandOutcome | Refused:
        if arguments.startswith(PREVIEW_OPTION):
            return await asyncio.to_thread(_stored(host).newest_rows, arguments.removeprefix(PREVIEW_OPTION))
        if arguments:
            return await asyncio.to_thread(_stored(host).resolve, arguments)
        options = await asyncio.to_thread(_stored(host).resumable)
        if not options:
            return shown_text("There is no other session of this directory to resume.")
        return CommandChoice(title="Sessions of this directory:", options=options)

    yield SlashCommand(info=SEARCH, run=search, effect=reads)

    def others(before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
        options = _stored(host).resumable() if not before else ()
        return (
            SubcommandInfo(name=each.line.removeprefix("/resume "), description=f"{each.label} {each.detail}")
            for each in options
        )

    yield SlashCommand(info=RESUME, run=resume, effect=reads, complete=others)


def _stored(host: CommandHost) -> "StoredSessions":
    # Loaded late: most conversations never need other sessions.
    from robota.commands.stored_sessions import StoredSessions

    return StoredSessions(host)


def _export_arguments(typed: str) -> ExportSession:
    """The format is the first word, or follows from the ending of the path."""
    first, _, rest = typed.partition(" ")
    if first in FORMATS:
        return msgspec.convert({"format": first, "output": rest.strip() or None}, ExportSession)
    format = FORMATS_BY_SUFFIX.get(Path(typed).suffix.lower(), "markdown")
    return msgspec.convert({"format": format, "output": typed or None}, ExportSession)
