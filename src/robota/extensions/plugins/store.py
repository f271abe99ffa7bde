"""Stores which plugins are installed and which marketplaces are known: one state file, and directories beside it.

The files of a plugin are in a directory named by their digest, which never changes. The state file, the agreement of
the user and the directories change in one transaction, so a reader sees either the old plugin or the new one.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import read_file
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.config.transaction import JOURNAL, Transaction, finish_interrupted
from robota.config.trust.lock_file import PLUGINS, changing_agreements
from robota.extensions.plugins.origins import Origin, Source

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
        others = tuple(other for other in self.plugins if other.key != plugin.key)
        return msgspec.structs.replace(self, plugins=(*others, plugin))

    def with_enabled(self, key: str, *, is_enabled: bool) -> "PluginState":
        """The plugin with this key enabled or disabled. One that is gone stays so."""
        changed = (
            msgspec.structs.replace(each, is_enabled=is_enabled) if each.key == key else each for each in self.plugins
        )
        return msgspec.structs.replace(self, plugins=tuple(changed))

    def without_plugin(self, plugin: InstalledPlugin) -> "PluginState":
        return msgspec.structs.replace(self, plugins=tuple(each for each in self.plugins if each.key != plugin.key))

    def with_marketplace(self, marketplace: KnownMarketplace) -> "PluginState":
        others = tuple(other for other in self.marketplaces if other.name != marketplace.name)
        return msgspec.structs.replace(self, marketplaces=(*others, marketplace))

    def without_marketplace(self, name: str) -> "PluginState":
        return msgspec.structs.replace(
            self, marketplaces=tuple(other for other in self.marketplaces if other.name != name)
        )


class PluginChange:
    """The state in a transaction. What is assigned to `state` is written with the other changes of `files`."""

    def __init__(self, files: Transaction, state: PluginState) -> None:
        self.files = files
        self.state = state


class PluginStore:
    """Reads and changes the state, safely between processes."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._home = user_directory(env)
        self.directory = self._home / PLUGINS
        self._path = self.directory / STATE_FILE

    def read(self) -> PluginState:
        """The current state. Raises `ConfigError` if the file cannot be read."""
        finish_interrupted(self._home, self._home / JOURNAL)
        try:
            return self._decoded(read_file(self._path))
        except FileNotFoundError:
            return PluginState()
        except OSError as error:
            raise self._unreadable(error) from error

    def change(self, update: Callable[[PluginState], PluginState]) -> None:
        """Apply `update` to the current state. Raises `ConfigError` or `OSError`, and then nothing is changed."""
        with self.changing() as change:
            change.state = update(change.state)

    @contextmanager
    def changing(self) -> Iterator["PluginChange"]:
        """Change the state together with agreements and directories, all or nothing. Raises like `change`."""
        with changing_agreements(self._env) as files:
            data = files.read(self.name_of(self._path))
            change = PluginChange(files, PluginState() if data is None else self._decoded(data))
            yield change
            encoded = msgspec.json.format(msgspec.json.encode(change.state), indent=2) + b"\n"
            files.write(self.name_of(self._path), encoded)

    def locked(self) -> AbstractContextManager[object]:
        """Keep other processes from changing plugins. A change of a killed process is finished first."""
        return changing_agreements(self._env)

    def name_of(self, path: Path) -> str:
        """The name of a path in a transaction."""
        return path.relative_to(self._home).as_posix()

    def _decoded(self, data: bytes) -> PluginState:
        try:
            return msgspec.json.decode(data, type=PluginState)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> ConfigError:
        return ConfigError(
            f"{self._path}, which lists the installed plugins, cannot be read ({error}), so none is used. It was "
            "not changed. Correct or remove it."
        )

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
