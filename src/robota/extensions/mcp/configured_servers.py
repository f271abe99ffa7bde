"""Which servers a session has: those of the settings, and after trust those of the workspace's own files."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from robota.config.settings.json_text import NotAnObject, read_object
from robota.config.settings.load import Settings
from robota.config.trust.sources import Snapshot
from robota.extensions.mcp.definitions import Server, StdioServer, read_server

FILES: Final = (".mcp.json", ".robota/mcp.json")
SECTION: Final = "mcpServers"


class Configured(msgspec.Struct, frozen=True, kw_only=True):
    """The servers in the order of their names, and lines for the person about what was left out."""

    servers: tuple[Server, ...] = ()
    notices: tuple[str, ...] = ()


class WrittenServer(msgspec.Struct, frozen=True):
    """An entry as it stands in a file, right or wrong. `variables` it may name and gets, besides the environment."""

    entry: Any
    where: str
    variables: dict[str, str] = {}


def configured(
    settings: Settings, env: Mapping[str, str], of_plugins: Mapping[str, WrittenServer] | None = None
) -> Configured:
    """The servers that can be started; those of plugins come after all others."""
    written, problems = written_servers(settings)
    written = {**(of_plugins or {}), **written}
    notices = list(problems)
    servers: list[Server] = []
    for name in sorted(written):
        own = written[name].variables
        server, problems = read_server(name, written[name].entry, written[name].where, {**env, **own})
        notices += problems
        if isinstance(server, StdioServer) and own:
            server = msgspec.structs.replace(server, env={**own, **server.env})
        if server is not None:
            servers.append(server)
    return Configured(servers=tuple(servers), notices=tuple(notices))


def written_servers(settings: Settings) -> tuple[dict[str, WrittenServer], tuple[str, ...]]:
    """The entries by name, and notices. A whole entry wins: settings over `.robota/mcp.json` over `.mcp.json`."""
    written: dict[str, WrittenServer] = {}
    notices: list[str] = []
    trust = settings.trust
    if trust is not None and trust.is_given:
        for path in FILES:
            written |= _of_file(trust.snapshot, path, notices)
    for name, entry in settings.values.mcp_servers.items():
        origin = settings.origin((SECTION, name))
        written[name] = WrittenServer(entry, origin.where if origin is not None else "the settings")
    return written, tuple(notices)


def _of_file(snapshot: Snapshot, path: str, notices: list[str]) -> dict[str, WrittenServer]:
    """The very bytes that were trusted, not read again."""
    if all(source.path != path for source in snapshot.sources):
        return {}
    where = str(snapshot.root / path)
    data = snapshot.data_of(path)
    if data is None:
        notices.append(f"{where} was not read, because it is a link, not a plain file, or too long.")
        return {}
    try:
        section = read_object(data.decode("utf-8-sig"))[0].get(SECTION, {})
        if not isinstance(section, dict):
            raise NotAnObject(1, f"{SECTION} must be an object")
    except (NotAnObject, UnicodeDecodeError) as error:
        notices.append(f"{where} was left out: {error}. Its MCP servers do not start; it was left as it is.")
        return {}
    return {name: WrittenServer(entry, where) for name, entry in section.items()}
