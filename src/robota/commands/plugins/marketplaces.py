"""Manages marketplaces."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from robota.commands.plugins.reply import PluginReply, joined, refusal
from robota.config.settings.load import Settings
from robota.extensions.plugins.manifest import InvalidPlugin
from robota.extensions.plugins.origins import Source, parse_typed_source, parse_written_source
from robota.extensions.plugins.store import KnownMarketplace
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.extensions.plugins.installer import PluginInstaller


class DeclaredMarketplaces(msgspec.Struct, frozen=True, kw_only=True):
    """The marketplaces of the settings, and problems with invalid ones."""

    sources: dict[str, Source]
    problems: tuple[str, ...] = ()


def declared_marketplaces(settings: Settings, project: Path) -> DeclaredMarketplaces:
    """Read `extraKnownMarketplaces`. Paths are relative to the project."""
    sources: dict[str, Source] = {}
    problems: list[str] = []
    for name, entry in settings.values.extra_known_marketplaces.items():
        try:
            sources[name] = parse_written_source(entry.get("source"), project)
        except InvalidPlugin as error:
            problems.append(f"The marketplace {single_line(name)} in the settings is ignored: {error}.")
    return DeclaredMarketplaces(sources=sources, problems=tuple(problems))


class MarketplaceActions:
    """Manages the marketplaces of the user and of the settings. Raises like `PluginActions`."""

    def __init__(self, installer: "PluginInstaller", project: Path, problems: tuple[str, ...]) -> None:
        self._installer = installer
        self._project = project
        self._problems = problems

    def list_all(self) -> PluginReply:
        marketplaces = self._installer.marketplaces()
        lines = list(self._problems)
        for each in marketplaces:
            lines.append(f"{single_line(each.name)}  {single_line(each.source.label, 4096)}")
            if not each.updated_ms:
                lines.append(f"  not fetched yet: robota plugin marketplace update {single_line(each.name)}")
            lines += [f"  {offer.name}@{each.name}  {offer.version}  {offer.description}" for offer in each.offered]
            lines += [f"  Note: {problem}." for problem in each.problems]
        nothing = "No marketplace is configured. To add one: robota plugin marketplace add SOURCE"
        return PluginReply(text="\n".join(lines) or nothing, data=[_as_json(each) for each in marketplaces])

    async def add(self, source: str) -> PluginReply:
        parsed = parse_typed_source(source, self._project)
        if parsed is None:
            raise InvalidPlugin(f"{single_line(source)!r} is not a path (./x), URL (https://…) or GitHub owner/name")
        added = await self._installer.refresh_marketplace(parsed)
        text = f"Added {added.name}. It offers {len(added.offered)} plugins: robota plugin marketplace list"
        return PluginReply(text="\n".join((text, *(f"Note: {each}." for each in added.problems))), data=_as_json(added))

    async def update(self, name: str) -> PluginReply:
        chosen = [self._marketplace(name)] if name else list(self._installer.marketplaces())
        return joined([await self._update_one(each) for each in chosen], "No marketplace is configured.")

    async def _update_one(self, known: KnownMarketplace) -> PluginReply:
        try:
            refreshed = await self._installer.refresh_marketplace(known.source, known.name)
        except InvalidPlugin as error:
            text = f"{single_line(known.name)}: {refusal(error)}"
            return PluginReply(text=text, data={"name": known.name, "error": str(error)}, is_done=False)
        return PluginReply(text=f"{refreshed.name} offers {len(refreshed.offered)} plugins.", data=_as_json(refreshed))

    def remove(self, name: str) -> PluginReply:
        removed = self._installer.remove_marketplace(self._marketplace(name))
        gone = f" Plugins removed with it: {', '.join(each.id for each in removed)}." if removed else ""
        return PluginReply(text=f"Removed {name}.{gone}", data={"name": name, "removed": [each.id for each in removed]})

    def _marketplace(self, name: str) -> KnownMarketplace:
        marketplaces = self._installer.marketplaces()
        marketplace = next((each for each in marketplaces if each.name == name), None)
        if marketplace is None:
            names = ", ".join(single_line(each.name) for each in marketplaces) or "none"
            raise InvalidPlugin(f"there is no marketplace {single_line(name)}; configured: {names}")
        return marketplace


def _as_json(known: KnownMarketplace) -> dict[str, Any]:
    return {
        "name": known.name,
        "origin": known.source,
        "commit": known.commit,
        "plugins": known.offered,
        "problems": known.problems,
    }
