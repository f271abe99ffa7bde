"""Installs, updates and removes plugins, and registers marketplaces.

A plugin is fetched into a staging directory and read there. Exactly these files are moved into place after the user
agreed, so nothing is fetched twice.
"""

import shutil
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from robota.config.durable_file import make_private_directory
from robota.config.errors import ConfigError
from robota.config.trust.lock_file import (
    Agreement,
    AgreementKind,
    ChangedPart,
    agreements,
    changed_parts,
    drop_agreement,
    put_agreement,
)
from robota.config.trust.sources import Snapshot, snapshot_of_tree
from robota.extensions.plugins.contents import PluginContents, read_contents
from robota.extensions.plugins.fetching import OpenSource, open_source
from robota.extensions.plugins.manifest import MANIFEST_FILES, InvalidPlugin
from robota.extensions.plugins.marketplace import Marketplace, MarketplaceEntry, PathInMarketplace
from robota.extensions.plugins.origins import DirectoryOrigin, GitOrigin, MarketplaceOrigin, Origin, Source
from robota.extensions.plugins.staging import locked_staging, staging_directory
from robota.extensions.plugins.store import (
    FROM_DIRECTORY,
    FROM_GIT,
    InstalledPlugin,
    KnownMarketplace,
    OfferedPlugin,
    PluginChange,
    PluginState,
    PluginStore,
)


class PluginCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin that was fetched and is not installed yet.

    `replaces` is the installed version, and `changes` the differences from what the user agreed to then.
    """

    plugin: InstalledPlugin
    files: Path
    snapshot: Snapshot
    contents: PluginContents
    left_out: tuple[str, ...] = ()
    replaces: InstalledPlugin | None = None
    changes: tuple[ChangedPart, ...] = ()


class _Fetched(msgspec.Struct, frozen=True, kw_only=True):
    source: OpenSource
    path: str = ""
    entry: MarketplaceEntry | None = None


class PluginInstaller:
    """Installs and removes plugins of the user or of one project."""

    def __init__(self, store: PluginStore, declared: Mapping[str, Source], env: Mapping[str, str]) -> None:
        """`declared` are the marketplaces of the settings; those that the user added take precedence."""
        self._store = store
        self._declared = declared
        self._env = env

    def marketplaces(self) -> tuple[KnownMarketplace, ...]:
        """The marketplaces that the user added, and those of the settings."""
        return self._marketplaces_in(self._store.read())

    def _marketplaces_in(self, state: PluginState) -> tuple[KnownMarketplace, ...]:
        by_name = {marketplace.name: marketplace for marketplace in state.marketplaces}
        declared = (KnownMarketplace(name=name, source=source) for name, source in self._declared.items())
        return (*by_name.values(), *(marketplace for marketplace in declared if marketplace.name not in by_name))

    @asynccontextmanager
    async def candidate(self, origin: Origin, name: str | None, project: str) -> AsyncIterator[PluginCandidate]:
        """Fetch and read a plugin without installing it. Raises `InvalidPlugin` or `ConfigError`."""
        async with staging_directory(self._store) as staging:
            files = staging / "files"
            files.mkdir(mode=0o700)
            fetched = await self._open(origin, name, staging)
            left_out = await fetched.source.copy(fetched.path, files)
            if fetched.entry is not None:
                _add_manifest(files, fetched.entry)
            snapshot = snapshot_of_tree(files)
            contents = read_contents(snapshot, name or _name_of(origin))
            plugin = InstalledPlugin(
                name=contents.manifest.name if fetched.entry is None else fetched.entry.name,
                marketplace=_marketplace_of(origin),
                origin=origin,
                digest=snapshot.digest,
                project=project,
                version=contents.manifest.version or (fetched.entry.version if fetched.entry else ""),
                commit=fetched.source.commit,
                installed_ms=_now_ms(),
            )
            before = next((installed for installed in self._store.read().plugins if installed.key == plugin.key), None)
            agreement = agreements(AgreementKind.PLUGIN, self._env).get(plugin.key)
            changes = changed_parts(agreement.parts, snapshot.parts, self._env) if before and agreement else ()
            yield PluginCandidate(
                plugin=plugin,
                files=files,
                snapshot=snapshot,
                contents=contents,
                left_out=left_out,
                replaces=before,
                changes=tuple(changes),
            )

    def install(self, candidate: PluginCandidate) -> InstalledPlugin:
        """Move the files of a candidate into place, and record that the user agreed to them."""
        plugin, parts = candidate.plugin, candidate.snapshot.parts
        agreement = Agreement(
            said="yes",
            digest=plugin.digest,
            given_ms=plugin.installed_ms,
            parts={part.name: part.digest for part in parts},
        )
        try:
            with self._store.changing() as change:
                before = next((installed for installed in change.state.plugins if installed.key == plugin.key), None)
                if before is not None:
                    plugin = msgspec.structs.replace(plugin, is_enabled=before.is_enabled)
                self._move_into_place(candidate, change)
                make_private_directory(self._store.data_of(plugin))
                put_agreement(change.files, AgreementKind.PLUGIN, plugin.key, agreement, parts, self._env)
                change.state = change.state.with_plugin(plugin)
        except OSError as error:
            raise ConfigError(f"The plugin cannot be saved: {error}. Installed plugins are unchanged.") from error
        self._remove_versions(plugin, keep=before)
        return plugin

    def uninstall(self, plugin: InstalledPlugin) -> None:
        """Remove a plugin and its agreement; its data too, unless it is also installed elsewhere."""
        with locked_staging(self._store) as staging, self._store.changing() as change:
            change.state = change.state.without_plugin(plugin)
            drop_agreement(change.files, AgreementKind.PLUGIN, plugin.key, self._env)
            if not any(other.id == plugin.id for other in change.state.plugins):
                self._discard(self._store.versions_of(plugin), staging / "versions", change)
                self._discard(self._store.data_of(plugin), staging / "data", change)

    def enable(self, plugin: InstalledPlugin, *, is_enabled: bool) -> None:
        """Enable or disable an installed plugin."""
        self._store.change(lambda state: state.with_enabled(plugin.key, is_enabled=is_enabled))

    async def refresh_marketplace(self, source: Source, name: str | None = None) -> KnownMarketplace:
        """Fetch a marketplace and store what it offers. Raises `InvalidPlugin`, also if its name is not `name`."""
        async with staging_directory(self._store) as staging:
            opened = await open_source(source, staging, self._env)
            marketplace = await opened.marketplace()
            _require_name(marketplace, name)
            refreshed = KnownMarketplace(
                name=marketplace.name,
                source=source,
                commit=opened.commit,
                updated_ms=_now_ms(),
                offered=tuple(
                    OfferedPlugin(name=entry.name, version=entry.version, description=entry.description)
                    for entry in marketplace.entries
                ),
                problems=marketplace.problems,
            )
        with self._store.changing() as change:
            for other in self._marketplaces_in(change.state):
                if other.name == refreshed.name and other.source != source:
                    raise InvalidPlugin(
                        f"there is a marketplace {other.name} already, from {other.source.label}; remove that one first"
                    )
            change.state = change.state.with_marketplace(refreshed)
        return refreshed

    def remove_marketplace(self, marketplace: KnownMarketplace) -> tuple[InstalledPlugin, ...]:
        """Remove a marketplace and the plugins installed from it; returns these plugins."""
        removed = tuple(plugin for plugin in self._store.read().plugins if plugin.marketplace == marketplace.name)
        for plugin in removed:
            self.uninstall(plugin)
        self._store.change(lambda state: state.without_marketplace(marketplace.name))
        return removed

    async def _open(self, origin: Origin, name: str | None, staging: Path) -> _Fetched:
        match origin:
            case DirectoryOrigin():
                return _Fetched(source=await open_source(origin, staging, self._env))
            case GitOrigin(path=path):
                return _Fetched(source=await open_source(origin, staging, self._env), path=path)
            case MarketplaceOrigin(marketplace=marketplace):
                return await self._open_from_marketplace(marketplace, name or "", staging)

    async def _open_from_marketplace(self, marketplace_name: str, name: str, staging: Path) -> _Fetched:
        registered = next(
            (registered for registered in self.marketplaces() if registered.name == marketplace_name), None
        )
        if registered is None:
            raise InvalidPlugin(
                f"there is no marketplace {marketplace_name}; add it with: robota plugin marketplace add SOURCE"
            )
        opened = await open_source(registered.source, staging, self._env)
        marketplace = await opened.marketplace()
        _require_name(marketplace, marketplace_name)
        entry = marketplace.entry(name)
        if entry is None:
            offered = ", ".join(registered.name for registered in marketplace.entries) or "nothing"
            raise InvalidPlugin(f"the marketplace {marketplace_name} has no plugin {name}; it offers {offered}")
        match entry.origin:
            case PathInMarketplace(path=path):
                return _Fetched(source=opened, path=path, entry=entry)
            case DirectoryOrigin() as source:
                return _Fetched(source=await open_source(source, staging, self._env), entry=entry)
            case GitOrigin(path=path) as source:
                return _Fetched(source=await open_source(source, staging, self._env), path=path, entry=entry)

    def _move_into_place(self, candidate: PluginCandidate, change: PluginChange) -> None:
        """Plan the move of the files to their place, and that of damaged ones out of it."""
        target = self._store.files_of(candidate.plugin)
        if target.exists():
            if snapshot_of_tree(target).digest == candidate.plugin.digest:
                return
            self._discard(target, candidate.files.with_name("damaged"), change)
        change.files.move(self._store.name_of(candidate.files), self._store.name_of(target))

    def _discard(self, directory: Path, into: Path, change: PluginChange) -> None:
        """Plan the move of a directory to a staging directory, which is removed afterwards."""
        if directory.exists():
            change.files.move(self._store.name_of(directory), self._store.name_of(into))

    def _remove_versions(self, plugin: InstalledPlugin, keep: InstalledPlugin | None) -> None:
        """Remove old versions, except the one just replaced, which running sessions may still use."""
        installed = (other for other in self._store.read().plugins if other.id == plugin.id)
        used = {self._store.files_of(other) for other in (*installed, plugin, keep or plugin)}
        with suppress(OSError):
            for version in self._store.versions_of(plugin).iterdir():
                if version not in used:
                    shutil.rmtree(version, ignore_errors=True)


def _require_name(marketplace: Marketplace, name: str | None) -> None:
    if name is not None and marketplace.name != name:
        raise InvalidPlugin(f"the marketplace calls itself {marketplace.name} and not {name}, so it is not used")


def _add_manifest(files: Path, entry: MarketplaceEntry) -> None:
    """Write the manifest from the entry of the marketplace, if the plugin has none."""
    if not any((files / path).exists() for path in MANIFEST_FILES):
        target = files / MANIFEST_FILES[0]
        target.parent.mkdir(exist_ok=True, mode=0o700)
        target.write_bytes(msgspec.json.encode(entry.manifest))


def _name_of(origin: Origin) -> str:
    match origin:
        case DirectoryOrigin(path=path):
            return Path(path).name
        case GitOrigin(url=url, path=path):
            return (path or url.removesuffix("/").removesuffix(".git")).rpartition("/")[2]
        case MarketplaceOrigin(marketplace=marketplace):
            return marketplace


def _marketplace_of(origin: Origin) -> str:
    match origin:
        case DirectoryOrigin():
            return FROM_DIRECTORY
        case GitOrigin():
            return FROM_GIT
        case MarketplaceOrigin(marketplace=marketplace):
            return marketplace


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
