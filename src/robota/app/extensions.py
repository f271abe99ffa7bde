"""The plugins and MCP servers of a session. Their modules are imported only if there are any."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.app.sandbox import withheld_variables
from robota.config.durable_file import has_entries
from robota.config.paths import user_directory
from robota.config.settings.load import Settings
from robota.config.trust.lock_file import PLUGINS

if TYPE_CHECKING:
    from robota.contracts.knowledge import PromptService
    from robota.extensions.mcp.configured_servers import WrittenServer
    from robota.extensions.mcp.servers import McpServers
    from robota.extensions.plugins.active import ActivePlugin
    from robota.workspace.outside_code.outside_code import OutsideCode

WORKSPACE_SERVERS: Final = frozenset({".mcp.json", ".robota/mcp.json"})
UNTRUSTED_CWD: Final = Path("/")
PLUGIN_STATE: Final = "plugins/plugins.json"


def has_programs(settings: Settings, plugins: "Sequence[ActivePlugin]" = ()) -> bool:
    """Whether hooks, MCP servers or a status line command are configured, which run outside the sandbox."""
    values = settings.values
    if values.hooks or values.mcp_servers or values.status_line is not None:
        return True
    sources = settings.trust.snapshot.sources if settings.trust is not None else ()
    has_files = any(source.path in WORKSPACE_SERVERS for source in sources)
    return has_files or any(plugin.contents.hooks or plugin.contents.servers for plugin in plugins)


def outside_code(
    settings: Settings,
    plugins: "Sequence[ActivePlugin]",
    root: Path,
    env: Mapping[str, str],
    *,
    attended: bool,
    saves_new: bool = True,
) -> "OutsideCode | None":
    """What compares the files that programs outside the sandbox run; None if there are no such programs."""
    if not has_programs(settings, plugins):
        return None
    from robota.app.protection.outside_code import session_code

    return session_code(settings, root, env, attended=attended, saves_new=saves_new)


def session_plugins(
    settings: Settings, project: Path, env: Mapping[str, str]
) -> "tuple[tuple[ActivePlugin, ...], tuple[str, ...]]":
    """The enabled and unchanged plugins for a project, and notices about the others."""
    enabled = settings.values.enabled_plugins
    if not enabled and not os.path.lexists(user_directory(env) / PLUGIN_STATE):
        return (), ()
    from robota.extensions.plugins.active import active_plugins

    plugins = active_plugins(project, enabled, env)
    return plugins.plugins, plugins.notices


def with_named_plugins(
    plugins: "tuple[ActivePlugin, ...]", directories: Sequence[Path], root: Path, env: Mapping[str, str]
) -> "tuple[tuple[ActivePlugin, ...], tuple[str, ...]]":
    """The plugins with those that the command line names, which come first; an installed one of a name gives way."""
    if not directories:
        return plugins, ()
    from robota.extensions.plugins.named_directories import plugins_in

    named = plugins_in(directories, root, env)
    names = {each.name for each in named.plugins}
    return (*named.plugins, *(each for each in plugins if each.name not in names)), named.notices


def configured_servers(
    settings: Settings,
    plugins: "Sequence[ActivePlugin]",
    code: "OutsideCode | None",
    root: Path,
    project: Path,
    env: Mapping[str, str],
    only: Sequence[str] | None = None,
) -> "tuple[McpServers | None, tuple[str, ...]]":
    """The MCP servers (`only` some) of settings, plugins and a trusted workspace, not started yet; None for none.

    They start in `root` only if it is trusted, because programs such as npx run code that they find there. Their tools
    are pinned for the `project`, which may have several worktrees. `code` compares what they run.
    """
    if code is None or not _has_servers(settings, plugins):
        return None, ()
    from robota.extensions.mcp.configured_servers import load_servers
    from robota.extensions.mcp.pinned_tools import PinnedToolStore
    from robota.extensions.mcp.servers import McpServers

    servers = load_servers(settings, env, _plugin_servers(plugins), only)
    if not servers.servers:
        return None, servers.notices
    cwd, pins = root if settings.is_trusted else UNTRUSTED_CWD, PinnedToolStore(project, env)
    return McpServers(servers.servers, code, cwd, pins, env, withheld_variables(settings)), servers.notices


def _has_servers(settings: Settings, plugins: "Sequence[ActivePlugin]") -> bool:
    sources = settings.trust.snapshot.sources if settings.trust is not None else ()
    has_own = any(source.path in WORKSPACE_SERVERS for source in sources)
    return bool(settings.values.mcp_servers) or has_own or any(each.contents.servers for each in plugins)


def _plugin_servers(plugins: "Sequence[ActivePlugin]") -> "dict[str, WrittenServer]":
    from robota.extensions.mcp.configured_servers import WrittenServer

    return {
        name: WrittenServer(entry, f"the plugin {plugin.plugin.id}", plugin.variables)
        for plugin in plugins
        for name, entry in plugin.servers.items()
    }


def server_prompts(servers: "McpServers | None") -> "PromptService | None":
    """The prompts of the servers; None without servers."""
    if servers is None:
        return None
    from robota.extensions.mcp.server_prompts import ServerPrompts

    return ServerPrompts(servers)


def find_resource_tool(servers: "McpServers | None", name: str) -> str | None:
    """The name of the tool that reads the resources of a server; None if it has none."""
    if servers is None or all(each.server.name != name or not each.has_resources for each in servers.usable):
        return None
    from robota.extensions.mcp.resource_tool import resource_tool_name

    return resource_tool_name(name)


def remove_staging_of_killed(env: Mapping[str, str]) -> None:
    """Remove what killed installations of plugins left. It runs at every start, so it looks before it loads."""
    if has_entries(user_directory(env) / PLUGINS / "staging"):
        from robota.extensions.plugins.staging import remove_abandoned_staging
        from robota.extensions.plugins.store import PluginStore

        remove_abandoned_staging(PluginStore(env))
