"""Manages plugins. Nothing is installed without the agreement of the user."""

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.commands.plugins.marketplaces import DeclaredMarketplaces, MarketplaceActions, declared_marketplaces
from robota.commands.plugins.reply import PluginReply, Proposal, joined, refusal
from robota.config.settings.layers import WORKSPACE_LAYERS
from robota.config.settings.load import Settings
from robota.config.trust.lock_file import AgreementKind, agreements, changed_parts
from robota.config.trust.sources import snapshot_of_tree
from robota.extensions.plugins.active import installed_for
from robota.extensions.plugins.contents import read_contents
from robota.extensions.plugins.manifest import InvalidPlugin
from robota.extensions.plugins.origins import MarketplaceOrigin, Origin, parse_typed_source
from robota.extensions.plugins.store import DIGEST_SHOWN, InstalledPlugin, PluginStore
from robota.extensions.plugins.versions import is_older
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.extensions.plugins.installer import PluginCandidate, PluginInstaller

SETTING: Final = "enabledPlugins"
IN_EFFECT: Final = "This applies to new sessions; to apply it to a running one: /plugin reload"


Agree = Callable[[Proposal], bool]


class PluginActions:
    """Manages the plugins of one project. Everything may raise `InvalidPlugin`, `ConfigError` or `OSError`."""

    def __init__(self, settings: Settings, project: Path, env: Mapping[str, str], agrees: Agree) -> None:
        """`agrees` gets the full description of a plugin before it is installed."""
        self._settings = settings
        self._project = project
        self._here = os.path.realpath(project)
        self._env = env
        self._agrees = agrees
        self._store = PluginStore(env)

    @cached_property
    def _declared(self) -> DeclaredMarketplaces:
        return declared_marketplaces(self._settings, self._project)

    @cached_property
    def _installer(self) -> "PluginInstaller":
        from robota.extensions.plugins.installer import PluginInstaller  # listing plugins does not need it

        return PluginInstaller(self._store, self._declared.sources, self._env)

    @cached_property
    def marketplaces(self) -> MarketplaceActions:
        """What can be done with marketplaces."""
        return MarketplaceActions(self._installer, self._project, self._declared.problems)

    def uninstall(self, name: str) -> PluginReply:
        plugin = self._installed(name)
        self._installer.uninstall(plugin)
        return PluginReply(text=f"Removed {plugin.id}.", data={"id": plugin.id, "removed": True})

    def list_all(self) -> PluginReply:
        plugins = installed_for(self._store.read(), self._project)
        lines = [
            f"{each.id}  {each.version or each.digest[:DIGEST_SHOWN]}  {each.scope}  {self._state(each)}"
            for each in plugins
        ]
        missing = [each for each in self._enabled_plugins() if each not in {plugin.id for plugin in plugins}]
        lines += [f"{single_line(each)}  requested by this project, not installed" for each in missing]
        data = [
            {
                "id": each.id,
                "version": each.version,
                "scope": each.scope,
                "state": self._state(each),
                "commit": each.commit,
                "digest": each.digest,
                "path": str(self._store.files_of(each)),
            }
            for each in plugins
        ]
        none = "No plugin is installed. To install one: robota plugin install NAME"
        return PluginReply(text="\n".join(lines) or none, data=data)

    def _state(self, plugin: InstalledPlugin) -> str:
        if self._is_off(plugin):
            return "disabled in the settings" if plugin.is_enabled else "disabled"
        if not self._is_as_agreed(plugin):
            return "changed: not used"
        # As in a session, where a plugin that is not used hides no other of its name.
        others = [each for each in installed_for(self._store.read(), self._project) if each.name == plugin.name]
        used = [each for each in others if not self._is_off(each) and self._is_as_agreed(each)]
        first = next(each for each in used if each.id == plugin.id)
        if first.key != plugin.key:
            return f"hidden by the {first.scope} plugin of this name"
        return "enabled" if used[0].id == plugin.id else f"enabled, as {plugin.id}:…"

    def _is_as_agreed(self, plugin: InstalledPlugin) -> bool:
        agreement = agreements(AgreementKind.PLUGIN, self._env).get(plugin.key)
        seen = snapshot_of_tree(self._store.files_of(plugin)).digest
        return agreement is not None and agreement.digest == seen == plugin.digest

    def _is_off(self, plugin: InstalledPlugin) -> bool:
        return not plugin.is_enabled or self._settings.values.enabled_plugins.get(plugin.id) is False

    def show(self, name: str) -> PluginReply:
        from robota.commands.plugins.description import (
            component_lines,
            difference_lines,
            heading_text,
            note_lines,
            plugin_json,
        )

        plugin = self._installed(name)
        root = self._store.files_of(plugin)
        snapshot = snapshot_of_tree(root)
        contents = read_contents(snapshot, plugin.name)
        agreement = agreements(AgreementKind.PLUGIN, self._env).get(plugin.key)
        changes = changed_parts({} if agreement is None else agreement.parts, snapshot.parts, self._env)
        lines = [
            heading_text(plugin, contents),
            f"It is {self._state(plugin)} ({plugin.scope}), in {root}. It contains:",
        ]
        lines += [*component_lines(plugin, contents, root), *note_lines(contents)]
        if changes:
            lines += ["Its files differ from what you agreed to:", *difference_lines(changes)]
        data = {**plugin_json(plugin, contents, root), "state": self._state(plugin), "path": str(root)}
        return PluginReply(text="\n".join(lines), data=data)

    async def install(self, what: str, scope: str | None) -> PluginReply:
        if not what:
            return await self._install_wanted(scope)
        origin, name = self._origin(what)
        is_wanted = scope is None and isinstance(origin, MarketplaceOrigin) and self._is_wanted_by_project(what)
        project = self._here if scope == "project" or is_wanted else ""
        async with self._installer.candidate(origin, name, project) as candidate:
            if self._is_unchanged(candidate):
                self._installer.install(candidate)
                plugin = candidate.plugin
                text = f"{plugin.id} is already installed and unchanged."
                return PluginReply(text=text, data={"id": plugin.id, "installed": True})
            return self._decide(candidate)

    async def _install_wanted(self, scope: str | None) -> PluginReply:
        installed = {each.id for each in installed_for(self._store.read(), self._project)}
        missing = [each for each in self._enabled_plugins() if each not in installed]
        if not missing:
            return PluginReply(text="All plugins that this project requests are installed.", data=[])
        return joined([await self._reply_or_failure(each, self.install(each, scope)) for each in missing], "")

    async def update(self, name: str) -> PluginReply:
        if name:
            return await self._update_one(self._installed(name))
        plugins = installed_for(self._store.read(), self._project)
        replies = [await self._reply_or_failure(each.id, self._update_one(each)) for each in plugins]
        return joined(replies, "No plugin is installed.")

    async def _reply_or_failure(self, name: str, pending: Awaitable[PluginReply]) -> PluginReply:
        """The reply, with a failure as part of it, so that the other plugins are processed."""
        try:
            return await pending
        except InvalidPlugin as error:
            text = f"{single_line(name)}: {refusal(error)}"
            return PluginReply(text=text, data={"id": name, "error": str(error)}, is_done=False)

    async def _update_one(self, plugin: InstalledPlugin) -> PluginReply:
        async with self._installer.candidate(plugin.origin, plugin.name, plugin.project) as candidate:
            new = candidate.plugin
            if is_older(new.version, plugin.version) and self._is_as_agreed(plugin):
                text = f"{plugin.id} stays at {plugin.version}: its source has the older version {new.version}."
                return PluginReply(text=text, data={"id": plugin.id, "updated": False})
            if self._is_unchanged(candidate):
                self._installer.install(candidate)
                return PluginReply(text=f"{plugin.id} is up to date.", data={"id": plugin.id, "updated": False})
            return self._decide(candidate)

    def _is_unchanged(self, candidate: "PluginCandidate") -> bool:
        """Whether the user agreed to exactly this content before and it is installed."""
        old = candidate.replaces
        agreement = None if old is None else agreements(AgreementKind.PLUGIN, self._env).get(old.key)
        return (
            old is not None
            and agreement is not None
            and old.digest == agreement.digest == candidate.plugin.digest
            and not candidate.changes
        )

    def _decide(self, candidate: "PluginCandidate") -> PluginReply:
        """Install a candidate if the user agrees to it."""
        from robota.commands.plugins.description import plugin_json, proposal_text

        plugin = candidate.plugin
        proposal = Proposal(text=proposal_text(candidate), digest=plugin.digest)
        data = plugin_json(plugin, candidate.contents, candidate.files)
        verb = "installed" if candidate.replaces is None else "updated"
        if not self._agrees(proposal):
            changed = [change.name for change in candidate.changes]
            return PluginReply(
                text=f"{plugin.id} was not {verb}. Nothing was changed.",
                data={**data, "installed": False, "changed": changed},
                waits_for=(proposal,),
            )
        self._installer.install(candidate)
        where = "for this project" if plugin.project else "for all your projects"
        return PluginReply(text=f"{plugin.id} is {verb} {where}. {IN_EFFECT}", data={**data, "installed": True})

    def switch(self, name: str, *, is_enabled: bool) -> PluginReply:
        plugin = self._installed(name)
        self._installer.enable(plugin, is_enabled=is_enabled)
        text = f"{plugin.id} is {'enabled' if is_enabled else 'disabled'}. {IN_EFFECT}"
        if is_enabled and self._settings.values.enabled_plugins.get(plugin.id) is False:
            text = f"{plugin.id} stays disabled by {SETTING} in the settings."
        return PluginReply(text=text, data={"id": plugin.id, "enabled": is_enabled})

    def _origin(self, what: str) -> tuple[Origin, str | None]:
        """The origin of a plugin, and its name in the marketplace if it is from one."""
        source = parse_typed_source(what, self._project)
        if source is not None:
            return source, None
        name, _, marketplace = what.partition("@")
        if marketplace:
            return MarketplaceOrigin(marketplace=marketplace), name
        offering = [
            each.name for each in self._installer.marketplaces() if any(offer.name == name for offer in each.offered)
        ]
        if len(offering) == 1:
            return MarketplaceOrigin(marketplace=offering[0]), name
        if offering:
            ids = ", ".join(f"{name}@{each}" for each in offering)
            raise InvalidPlugin(f"several marketplaces offer it; choose one: {ids}")
        raise InvalidPlugin(
            f"no marketplace offers {single_line(name)}; to see what is available: robota plugin marketplace list"
        )

    def _installed(self, name: str) -> InstalledPlugin:
        plugins = installed_for(self._store.read(), self._project)
        matching = [each for each in plugins if name in (each.id, each.name)]
        if not matching:
            installed_ids = ", ".join(each.id for each in plugins) or "none"
            raise InvalidPlugin(f"no plugin {single_line(name)} is installed here; installed: {installed_ids}")
        if len(ids := dict.fromkeys(each.id for each in matching)) > 1:
            raise InvalidPlugin(f"several plugins have this name; choose one: {', '.join(ids)}")
        return matching[0]

    def _enabled_plugins(self) -> list[str]:
        return [each for each, is_on in self._settings.values.enabled_plugins.items() if is_on]

    def _is_wanted_by_project(self, plugin: str) -> bool:
        """Whether the settings of the project, not those of the user, enable a plugin."""
        origin = self._settings.origin((SETTING, plugin))
        return origin is not None and origin.layer in WORKSPACE_LAYERS
