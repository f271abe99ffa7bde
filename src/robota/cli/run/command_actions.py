"""Actions of the program for slash commands; each part is imported when its command is used."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from robota.app.session import OpenSession
from robota.commands.host import ExportRequest, ProgramActions
from robota.protocol.views import View

if TYPE_CHECKING:
    from robota.commands.builtin.intents import IntentAccess
    from robota.commands.builtin.memory import MemoryAccess


def command_actions(opened: OpenSession) -> ProgramActions:
    """The actions that a session offers to slash commands."""

    async def export(request: ExportRequest) -> str:
        return await asyncio.to_thread(_exported, opened, request)

    async def examine() -> View:
        from robota.cli.commands.doctor.checks import examine
        from robota.cli.commands.doctor.command import check_table

        return check_table(await examine(opened.options.cwd, os.environ))

    async def try_provider(name: str) -> str:
        from msgspec.structs import replace

        from robota.cli.configure.trial import PROBE_SECONDS, probe

        profile = replace(opened.settings.values.providers[name], name=name)
        return (await probe(profile, os.environ, PROBE_SECONDS)).text

    def memory() -> "MemoryAccess":
        from robota.app.knowledge.memory_access import session_memory

        return session_memory(opened, os.environ)

    def intents() -> "IntentAccess":
        from robota.app.intent_access import session_intents

        return session_intents(opened, os.environ)

    return ProgramActions(export=export, examine=examine, try_provider=try_provider, memory=memory, intents=intents)


def _exported(opened: OpenSession, request: ExportRequest) -> str:
    """Write the file and return a message with its path. Raises `ConfigError` or `LogError`."""
    from robota.cli.commands.sessions.exporting import file_ending, own_cover, write_export
    from robota.cli.commands.sessions.selection import person_directory, tell
    from robota.config.errors import ConfigError
    from robota.log.catalogue.catalogue import catalogue
    from robota.log.catalogue.find import find_catalogued
    from robota.log.catalogue.places import project_places

    user = person_directory()
    sessions = catalogue(project_places(opened.kept_in, user), user, tell)
    session = find_catalogued(sessions, opened.options.session_id)
    name = request.path or f"robota-{session.id}.{file_ending(request.format)}"
    try:
        path = opened.options.cwd / Path(name.replace("\0", "")).expanduser()
    except RuntimeError as error:
        raise ConfigError(f"There is no home directory for {name}. Nothing was written.") from error
    if os.path.lexists(path):
        raise ConfigError(
            f"{path} already exists and was left unchanged. Use another path: /export {request.format} PATH"
        )
    notes = write_export(path, request.format, session, own_cover(session))
    left_out = f" {len(notes['leftOut'])} saved outputs are not text and were omitted." if notes.get("leftOut") else ""
    return f"The session was written to {path}. User names, paths, keys and passwords are redacted.{left_out}"
