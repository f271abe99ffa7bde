"""Parses `marketplace.json`: the plugins that a marketplace offers, and their sources."""

from pathlib import Path
from typing import Any, Final

import msgspec

from robota.config.settings.json_text import NotAnObject, read_object
from robota.extensions.plugins.manifest import InvalidPlugin, validated_name
from robota.extensions.plugins.origins import GitOrigin, Source, contained_path, parse_written_source
from robota.text.visible import single_line

MARKETPLACE_FILES: Final = (".robota-plugin/marketplace.json", ".claude-plugin/marketplace.json")
MAX_PLUGINS: Final = 5_000
MAX_DESCRIPTION: Final = 300
# Keys of an entry that are about the marketplace; the others can replace a missing plugin.json.
NOT_IN_MANIFEST: Final = frozenset({"source", "strict", "category", "tags", "relevance"})


class PathInMarketplace(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin in a directory of the marketplace itself."""

    path: str


class MarketplaceEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin that is offered. `manifest` replaces its plugin.json if it has none."""

    name: str
    origin: PathInMarketplace | Source
    description: str = ""
    version: str = ""
    manifest: dict[str, Any] = {}


class Marketplace(msgspec.Struct, frozen=True, kw_only=True):
    """The plugins that are offered. `problems` describes invalid entries."""

    name: str
    entries: tuple[MarketplaceEntry, ...] = ()
    problems: tuple[str, ...] = ()

    def entry(self, name: str) -> MarketplaceEntry | None:
        return next((entry for entry in self.entries if entry.name == name), None)


def parse_marketplace(data: bytes, *, is_local: bool) -> Marketplace:
    """Parse a `marketplace.json`. Raises `InvalidPlugin`; invalid entries only become `problems`.

    Only one that `is_local` may name repositories of this machine.
    """
    try:
        written = read_object(data.decode("utf-8-sig"))[0]
    except (NotAnObject, UnicodeDecodeError) as error:
        raise InvalidPlugin(f"its marketplace.json cannot be read: {error}") from error
    name, listed = written.get("name"), written.get("plugins")
    if not isinstance(name, str) or not isinstance(listed, list):
        raise InvalidPlugin("its marketplace.json needs a name and a list of plugins")
    if len(listed) > MAX_PLUGINS:
        raise InvalidPlugin(f"it offers more than {MAX_PLUGINS} plugins")
    metadata = written.get("metadata")
    root = metadata.get("pluginRoot", "") if isinstance(metadata, dict) else ""
    entries: dict[str, MarketplaceEntry] = {}
    problems: list[str] = []
    for number, item in enumerate(listed, start=1):
        try:
            entry = _entry(item, root if isinstance(root, str) else "")
            if not is_local and isinstance(entry.origin, GitOrigin) and entry.origin.is_local:
                raise InvalidPlugin("a marketplace of another machine cannot name a repository of this one")
        except InvalidPlugin as error:
            problems.append(f"plugin {_entry_label(item, number)} of the marketplace is ignored: {error}")
        else:
            if entries.setdefault(entry.name, entry) is not entry:
                problems.append(f"there are two plugins {entry.name}; the second is ignored")
    return Marketplace(name=validated_name(name), entries=tuple(entries.values()), problems=tuple(problems))


def _entry_label(written: Any, number: int) -> str:
    """The name of an entry, or its number in the list."""
    name = written.get("name") if isinstance(written, dict) else None
    return single_line(name) if isinstance(name, str) and name else str(number)


def _entry(written: Any, root: str) -> MarketplaceEntry:
    if not isinstance(written, dict) or not isinstance(written.get("name"), str):
        raise InvalidPlugin("it has no name")
    version, description = (written.get(key) for key in ("version", "description"))
    return MarketplaceEntry(
        name=validated_name(written["name"]),
        origin=_entry_source(written.get("source"), root),
        description=single_line(description, MAX_DESCRIPTION) if isinstance(description, str) else "",
        version=single_line(version) if isinstance(version, str) else "",
        manifest={key: value for key, value in written.items() if key not in NOT_IN_MANIFEST},
    )


def _entry_source(written: Any, root: str) -> PathInMarketplace | Source:
    if isinstance(written, str):
        own = contained_path(written)
        return PathInMarketplace(path=own if written.startswith("./") or not root else contained_path(f"{root}/{own}"))
    # A marketplace is written by somebody else and must not name directories of this machine.
    if isinstance(written, dict) and written.get("source") in ("directory", "local"):
        raise InvalidPlugin("a marketplace can name paths within itself and repositories, no other directories")
    return parse_written_source(written, Path("/"))
