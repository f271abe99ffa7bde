"""`marketplace.json`: the plugins that a marketplace offers, and where each of them is."""

from pathlib import Path
from typing import Any, Final

import msgspec

from robota.config.settings.json_text import NotAnObject, read_object
from robota.extensions.plugins.manifest import InvalidPlugin, checked_name
from robota.extensions.plugins.origins import Place, path_within, written_place
from robota.text.visible import single_line

MARKETPLACE_FILES: Final = (".robota-plugin/marketplace.json", ".claude-plugin/marketplace.json")
MOST_PLUGINS: Final = 5_000
DESCRIPTION: Final = 300
# What an entry may say in place of a plugin's own plugin.json.
NO_PART_OF_MANIFEST: Final = frozenset({"source", "strict", "category", "tags", "relevance"})


class PathInMarketplace(msgspec.Struct, frozen=True, kw_only=True):
    """The plugin lies in the marketplace itself."""

    path: str


class MarketplaceEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin that is offered. `manifest` holds what the entry says of it."""

    name: str
    origin: PathInMarketplace | Place
    description: str = ""
    version: str = ""
    manifest: dict[str, Any] = {}


class Marketplace(msgspec.Struct, frozen=True, kw_only=True):
    """What is offered. `problems` names entries that cannot be used."""

    name: str
    entries: tuple[MarketplaceEntry, ...] = ()
    problems: tuple[str, ...] = ()

    def entry(self, name: str) -> MarketplaceEntry | None:
        return next((each for each in self.entries if each.name == name), None)


def parse_marketplace(data: bytes) -> Marketplace:
    """Read a `marketplace.json`. Raises `InvalidPlugin`; an entry that is wrong costs only itself."""
    try:
        written = read_object(data.decode("utf-8-sig"))[0]
    except (NotAnObject, UnicodeDecodeError) as error:
        raise InvalidPlugin(f"its marketplace.json cannot be read: {error}") from error
    name, listed = written.get("name"), written.get("plugins")
    if not isinstance(name, str) or not isinstance(listed, list):
        raise InvalidPlugin("its marketplace.json needs a name and a list of plugins")
    if len(listed) > MOST_PLUGINS:
        raise InvalidPlugin(f"it offers more than {MOST_PLUGINS} plugins")
    metadata = written.get("metadata")
    root = metadata.get("pluginRoot", "") if isinstance(metadata, dict) else ""
    entries: dict[str, MarketplaceEntry] = {}
    problems: list[str] = []
    for place, each in enumerate(listed):
        try:
            entry = _entry(each, root if isinstance(root, str) else "")
        except InvalidPlugin as error:
            problems.append(f"plugin {_called(each, place)} of the marketplace is left out: {error}")
        else:
            if entries.setdefault(entry.name, entry) is not entry:
                problems.append(f"there are two plugins {entry.name}; the second is left out")
    return Marketplace(name=checked_name(name), entries=tuple(entries.values()), problems=tuple(problems))


def _called(written: Any, place: int) -> str:
    """The name that an entry says, or else its place in the list."""
    name = written.get("name") if isinstance(written, dict) else None
    return single_line(name) if isinstance(name, str) and name else str(place + 1)


def _entry(written: Any, root: str) -> MarketplaceEntry:
    if not isinstance(written, dict) or not isinstance(written.get("name"), str):
        raise InvalidPlugin("it has no name")
    version, description = (written.get(key) for key in ("version", "description"))
    return MarketplaceEntry(
        name=checked_name(written["name"]),
        origin=_origin(written.get("source"), root),
        description=single_line(description, DESCRIPTION) if isinstance(description, str) else "",
        version=single_line(version) if isinstance(version, str) else "",
        manifest={key: value for key, value in written.items() if key not in NO_PART_OF_MANIFEST},
    )


def _origin(written: Any, root: str) -> PathInMarketplace | Place:
    if isinstance(written, str):
        own = path_within(written)
        return PathInMarketplace(path=own if written.startswith("./") or not root else path_within(f"{root}/{own}"))
    # A marketplace that somebody else wrote must not make us read directories of this machine.
    if isinstance(written, dict) and written.get("source") in ("directory", "local"):
        raise InvalidPlugin("a marketplace can name paths within itself and repositories, no other directories")
    return written_place(written, Path("/"))
