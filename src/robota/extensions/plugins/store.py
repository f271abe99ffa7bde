"""Stores which plugins are installed and which marketplaces are known: one state file, and directories beside it.

The files of a plugin are in a directory named by their digest, which never changes. An update creates another
directory and then replaces the state file, so a reader sees either the old plugin or the new one.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import only_writer, read_file, replace_file
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.extensions.plugins.origins import Origin, Source

DIRECTORY: Final = "plugins"
STATE_FILE: Final = "plugins.json"
DIGEST_SHOWN: Final = 12
DIRECTORY_DIGEST: Final = 16
# The part after the @ in the id of plugins that came from no marketplace.
FROM_DIRECTORY: Final = "local"
FROM_GIT: Final = "git"


class InstalledPlugin(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An installed plugin, for all projects of the user or for one (`project` is its path)."""

    name: str
    marketplace: str
    origin: Origin
    digest: str
    project: str = ""
    version: str = ""
    commit: str = ""
    is_enabled: bool = True
    installed_ms: int = 0

    @property
    def id(self) -> str:
        return f"{self.name}@{self.marketplace}"

    @property
    def key(self) -> str:
        """Its key in the lock file and in the state."""
        return f"{self.id} in {self.project}" if self.project else self.id

    @property
    def scope(self) -> str:
        return "project" if self.project else "user"


class OfferedPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin of a marketplace, as of its last refresh."""

    name: str
    version: str = ""
    description: str = ""


class KnownMarketplace(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A marketplace that the user added, or that the settings declare; the latter has no `offered` plugins yet."""

    name: str
    source: Source = msgspec.field(name="place")
    commit: str = ""
    updated_ms: int = 0
    offered: tuple[OfferedPlugin, ...] = ()
    problems: tuple[str, ...] = ()


class PluginState(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the state file."""

    version: int = 1
    plugins: tuple[InstalledPlugin, ...] = ()
    marketplaces: tuple[KnownMarketplace, ...] = ()

    def with_plugin(self, plugin: InstalledPlugin) -> "PluginState":
        others = tuple(each for each in self.plugins if each.key != plugin.key)
        return msgspec.structs.replace(self, plugins=(*others, plugin))

    def without_plugin(self, plugin: InstalledPlugin) -> "PluginState":
        return msgspec.structs.replace(self, plugins=tuple(each for each in self.plugins if each.key != plugin.key))

    def with_marketplace(self, known: KnownMarketplace) -> "PluginState":
        others = tuple(each for each in self.marketplaces if each.name != known.name)
        return msgspec.structs.replace(self, marketplaces=(*others, known))

    def without_marketplace(self, name: str) -> "PluginState":
        return msgspec.structs.replace(
            self, marketplaces=tuple(each for each in self.marketplaces if each.name != name)
        )


class PluginStore:
    """Reads and changes the state, safely between processes."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.directory = user_directory(env) / DIRECTORY
        self._path = self.directory / STATE_FILE

    def read(self) -> PluginState:
        """The current state. Raises `ConfigError` if the file cannot be read."""
        try:
            return msgspec.json.decode(read_file(self._path), type=PluginState)
        except FileNotFoundError:
            return PluginState()
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"{self._path}, which lists the installed plugins, cannot be read ({error}), so none is used. It was "
                "not changed. Correct or remove it."
            ) from error

    def change(self, update: Callable[[PluginState], PluginState]) -> None:
        """Apply `update` to the current state under a lock. Raises `ConfigError` or `OSError`."""
        with only_writer(self.directory):
            state = update(self.read())
            replace_file(self._path, msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n")

    def files_of(self, plugin: InstalledPlugin) -> Path:
        """The directory of a plugin's files."""
        return self.versions_of(plugin) / plugin.digest[:DIRECTORY_DIGEST]

    def versions_of(self, plugin: InstalledPlugin) -> Path:
        return self.directory / "cache" / plugin.marketplace / plugin.name

    def data_of(self, plugin: InstalledPlugin) -> Path:
        """The directory in which a plugin may store data across updates."""
        return self.directory / "data" / f"{plugin.name}-{plugin.marketplace}"

    @property
    def staging(self) -> Path:
        return self.directory / "staging"
