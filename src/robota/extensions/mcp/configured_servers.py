"""Collects the MCP servers of a session: from settings, plugins, and the files of a trusted workspace."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from robota.config.settings.json_text import NotAnObject, read_object
from robota.config.settings.load import Settings
from robota.config.trust.sources import Snapshot
from robota.extensions.mcp.definitions import Server, StdioServer, read_server

FILES: Final = (".mcp.json", ".robota/mcp.json")
SECTION: Final = "mcpServers"


class Configured(msgspec.Struct, frozen=True, kw_only=True):
    """The servers, sorted by name, and notices for the user about invalid entries."""

    servers: tuple[Server, ...] = ()
    notices: tuple[str, ...] = ()


class WrittenServer(msgspec.Struct, frozen=True):
    """An entry as written, not validated. It may use its own `variables`, which its program gets in its environment."""

    entry: Any
    where: str
    variables: dict[str, str] = {}


def load_servers(
    settings: Settings,
    env: Mapping[str, str],
    from_plugins: Mapping[str, WrittenServer] | None = None,
    only: Collection[str] | None = None,
) -> Configured:
    """The servers that can be started, or `only` some. Entries of plugins have the lowest precedence."""
    own_servers, file_notices = written_servers(settings)
    written = {**(from_plugins or {}), **own_servers}
    notices = list(file_notices)
    servers: list[Server] = []
    for name in sorted(written if only is None else written.keys() & set(only)):
        own = written[name].variables
        server, entry_notices = read_server(name, written[name].entry, written[name].where, {**env, **own})
        notices += entry_notices
        if isinstance(server, StdioServer) and own:
            server = msgspec.structs.replace(server, env={**own, **server.env})
        if server is not None:
            servers.append(server)
    return Configured(servers=tuple(servers), notices=tuple(notices))


def written_servers(settings: Settings) -> tuple[dict[str, WrittenServer], tuple[str, ...]]:
    """Entries by name, and notices. Settings override `.robota/mcp.json`, which overrides `.mcp.json`; never merged."""
    written: dict[str, WrittenServer] = {}
    notices: list[str] = []
    trust = settings.trust
    if trust is not None and trust.is_given:
        for path in FILES:
            written |= _of_file(trust.snapshot, path, notices)
        for name in settings.values.disabled_mcpjson_servers:
            if name in written:
                written[name] = _disabled(written[name])
    for name, entry in settings.values.mcp_servers.items():
        origin = settings.origin((SECTION, name))
        written[name] = WrittenServer(entry, origin.where if origin is not None else "the settings")
    return written, tuple(notices)


def _disabled(written: WrittenServer) -> WrittenServer:
    """The same server, which is not started; an entry that is none stays as it is, and is reported."""
    entry = written.entry
    return msgspec.structs.replace(written, entry={**entry, "disabled": True} if isinstance(entry, dict) else entry)


def _of_file(snapshot: Snapshot, path: str, notices: list[str]) -> dict[str, WrittenServer]:
    """The entries of a file of the workspace, from the bytes that the user trusted."""
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
        notices.append(f"{where} was ignored: {error}. Its MCP servers do not start; it was not changed.")
        return {}
    return {name: WrittenServer(entry, where) for name, entry in section.items()}
