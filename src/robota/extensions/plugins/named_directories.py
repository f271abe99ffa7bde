"""Plugins that the command line names: used in one session, from where they are, without being installed."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from robota.config.paths import user_directory
from robota.config.trust.sources import snapshot_of_tree
from robota.extensions.plugins.active import ActivePlugin, ActivePlugins
from robota.extensions.plugins.contents import read_contents
from robota.extensions.plugins.manifest import InvalidPlugin
from robota.extensions.plugins.origins import DirectoryOrigin
from robota.extensions.plugins.store import FROM_DIRECTORY, InstalledPlugin, PluginStore


def plugins_in(directories: Sequence[Path], root: Path, env: Mapping[str, str]) -> ActivePlugins:
    """The plugins in these directories. One below the workspace or `~/.robota` runs no hooks and servers.

    Commands of the agent could change what those run outside the sandbox.
    """
    plugins: list[ActivePlugin] = []
    notices: list[str] = []
    for directory in directories:
        place = Path(os.path.realpath(directory))
        snapshot = snapshot_of_tree(place)
        try:
            contents = read_contents(snapshot, place.name)
        except InvalidPlugin as error:
            notices.append(f"The plugin in {directory} is not used: {error}.")
            continue
        if _can_be_changed(place, root, env) and (contents.hooks or contents.servers):
            contents = msgspec.structs.replace(contents, hooks=(), servers={})
            notices.append(
                f"The hooks and MCP servers of the plugin in {directory} are not used: commands of the agent could "
                "change what they run. Keep the plugin outside the workspace, or install it: robota plugin install"
            )
        name, digest = contents.manifest.name, snapshot.digest
        plugin = InstalledPlugin(
            name=name, marketplace=FROM_DIRECTORY, origin=DirectoryOrigin(path=str(place)), digest=digest
        )
        digests = {source.path: source.digest for source in snapshot.sources}
        data = PluginStore(env).data_of(plugin)
        plugins.append(
            ActivePlugin(plugin=plugin, name=name, contents=contents, root=place, data=data, digests=digests)
        )
    return ActivePlugins(plugins=tuple(plugins), notices=tuple(notices))


def _can_be_changed(place: Path, root: Path, env: Mapping[str, str]) -> bool:
    """Whether commands of the session can write there."""
    return place.is_relative_to(root) or root.is_relative_to(place) or place.is_relative_to(user_directory(env))
