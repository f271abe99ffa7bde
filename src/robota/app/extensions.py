"""The plugins and MCP servers of a session; nothing about them is imported where there are none."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.app.sandbox import withheld_variables
from robota.config.paths import user_directory
from robota.config.settings.load import Settings

if TYPE_CHECKING:
    from robota.contracts.knowledge import PromptService
    from robota.extensions.mcp.servers import McpServers
    from robota.extensions.plugins.active import ActivePlugin

WORKSPACE_SERVERS: Final = frozenset({".mcp.json", ".robota/mcp.json"})
NEUTRAL_PLACE: Final = Path("/")
INSTALLED: Final = "plugins/plugins.json"


def session_plugins(
    settings: Settings, project: Path, env: Mapping[str, str]
) -> "tuple[tuple[ActivePlugin, ...], tuple[str, ...]]":
    """The plugins for a project that are switched on and as the person agreed to them; lines about the others."""
    wanted = settings.values.enabled_plugins
    if not wanted and not os.path.lexists(user_directory(env) / INSTALLED):
        return (), ()
    from robota.extensions.plugins.active import active_plugins

    found = active_plugins(project, wanted, env)
    return found.plugins, found.notices


def configured_servers(
    settings: Settings, plugins: "Sequence[ActivePlugin]", root: Path, project: Path, env: Mapping[str, str]
) -> "tuple[McpServers | None, tuple[str, ...]]":
    """The MCP servers of settings, plugins and a trusted workspace, not started yet; usually there are none.

    They work in `root`, but not in one that a person has not trusted: programs such as npx look for code around them.
    What a person approved of them holds for the `project`, which may have several such places.
    """
    sources = settings.trust.snapshot.sources if settings.trust is not None else ()
    brings_some = any(source.path in WORKSPACE_SERVERS for source in sources)
    if not settings.values.mcp_servers and not brings_some and not any(each.contents.servers for each in plugins):
        return None, ()
    from robota.extensions.mcp.configured_servers import WrittenServer, load_servers
    from robota.extensions.mcp.pinned_tools import PinnedToolStore
    from robota.extensions.mcp.servers import McpServers

    of_plugins = {
        name: WrittenServer(entry, f"the plugin {plugin.plugin.id}", plugin.variables)
        for plugin in plugins
        for name, entry in plugin.servers.items()
    }
    found = load_servers(settings, env, of_plugins)
    place = root if settings.is_trusted else NEUTRAL_PLACE
    if not found.servers:
        return None, found.notices
    pins = PinnedToolStore(project, env)
    return McpServers(found.servers, place, pins, env, withheld_variables(settings)), found.notices


def server_prompts(servers: "McpServers | None") -> "PromptService | None":
    """The prompts of the servers, if there are any servers."""
    if servers is None:
        return None
    from robota.extensions.mcp.server_prompts import ServerPrompts

    return ServerPrompts(servers)


def resource_tool_of(servers: "McpServers | None", name: str) -> str | None:
    """The tool that reads the resources of the server of this name; None if no such server has any."""
    if servers is None or all(each.server.name != name or not each.has_resources for each in servers.usable):
        return None
    from robota.extensions.mcp.resource_tool import resource_tool_name

    return resource_tool_name(name)
