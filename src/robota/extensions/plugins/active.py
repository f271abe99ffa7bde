"""Loads the plugins of a session: installed, enabled, and with exactly the content that the user agreed to."""

import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.trust.lock_file import AgreementKind, agreements
from robota.config.trust.sources import snapshot_of_tree
from robota.extensions.plugins.contents import PluginContents, read_contents
from robota.extensions.plugins.manifest import InvalidPlugin
from robota.extensions.plugins.store import InstalledPlugin, PluginState, PluginStore
from robota.text.visible import single_line

MAX_SERVER_NAME: Final = 32


class ActivePlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin that a session uses. `root` holds its files, `data` what it stores itself.

    `name` is the prefix of its skills: its own, or its id if another plugin has the same. `digests` are those of its
    files, as the user agreed to them.
    """

    plugin: InstalledPlugin
    name: str
    contents: PluginContents
    root: Path
    data: Path
    digests: dict[str, str] = {}

    @property
    def variables(self) -> dict[str, str]:
        """The variables that its hooks, servers and skills may use."""
        return {
            "CLAUDE_PLUGIN_ROOT": str(self.root),
            "ROBOTA_PLUGIN_ROOT": str(self.root),
            "CLAUDE_PLUGIN_DATA": str(self.data),
            "ROBOTA_PLUGIN_DATA": str(self.data),
        }

    @property
    def servers(self) -> dict[str, Any]:
        """Its MCP servers, by names with the prefix `plugin_NAME_`."""
        return {server_name(self.name, server): entry for server, entry in self.contents.servers.items()}


class ActivePlugins(msgspec.Struct, frozen=True, kw_only=True):
    """The plugins of a session, and notices for the user about those that are not used."""

    plugins: tuple[ActivePlugin, ...] = ()
    notices: tuple[str, ...] = ()


def active_plugins(project: Path, switched: Mapping[str, bool], env: Mapping[str, str]) -> ActivePlugins:
    """Load the plugins for a project. `switched` is `enabledPlugins` of the settings: on or off by plugin id."""
    store = PluginStore(env)
    try:
        state = store.read()
        agreed = agreements(AgreementKind.PLUGIN, env) if state.plugins else {}
    except ConfigError as error:
        return ActivePlugins(notices=(str(error),))
    plugins: list[ActivePlugin] = []
    notices: list[str] = []
    for plugin in installed_for(state, project):
        is_used = any(each.plugin.id == plugin.id for each in plugins)
        if not plugin.is_enabled or switched.get(plugin.id) is False or is_used:
            continue
        agreement = agreed.get(plugin.key)
        name = plugin.id if plugin.name in {each.name for each in plugins} else plugin.name
        loaded = _load(store, plugin, name, "" if agreement is None else agreement.digest)
        if isinstance(loaded, ActivePlugin):
            plugins.append(loaded)
        else:
            notices.append(loaded)
    installed = {plugin.id for plugin in state.plugins if plugin.project in ("", os.path.realpath(project))}
    notices += [_not_installed_notice(each) for each, is_on in switched.items() if is_on and each not in installed]
    return ActivePlugins(plugins=tuple(plugins), notices=tuple(notices))


def installed_for(state: PluginState, project: Path) -> Sequence[InstalledPlugin]:
    """The plugins installed for a project: its own first, which take precedence, then those of the user."""
    here = os.path.realpath(project)
    return sorted((each for each in state.plugins if each.project in ("", here)), key=lambda each: not each.project)


def server_name(plugin: str, server: str) -> str:
    """The name of a plugin's MCP server. A long one is cut and ends with a hash."""
    name = f"plugin_{plugin.replace('@', '-')}_{server}"
    if len(name) <= MAX_SERVER_NAME:
        return name
    return f"{name[: MAX_SERVER_NAME - 9].rstrip('_-')}-{sha256(name.encode()).hexdigest()[:8]}"


def _load(store: PluginStore, plugin: InstalledPlugin, name: str, agreed: str) -> ActivePlugin | str:
    """The loaded plugin, or a notice why it is not used."""
    root = store.files_of(plugin)
    snapshot = snapshot_of_tree(root)
    if snapshot.problem is not None or not plugin.digest == agreed == snapshot.digest:
        return (
            f"The plugin {plugin.id} has changed since you agreed to it, so it is not used. "
            f"robota plugin show {plugin.id} says what changed; robota plugin update {plugin.id} fetches it anew."
        )
    try:
        contents = read_contents(snapshot, plugin.name)
    except InvalidPlugin as error:
        return f"The plugin {plugin.id} is not used: {error}."
    digests = {source.path: source.digest for source in snapshot.sources}
    data = store.data_of(plugin)
    return ActivePlugin(plugin=plugin, name=name, contents=contents, root=root, data=data, digests=digests)


def _not_installed_notice(plugin: str) -> str:
    name = single_line(plugin)
    return (
        f"This project requests the plugin {name}, which is not installed. To review and install it: robota plugin "
        f"install {name}"
    )
