"""Requests about plugins and marketplaces, and their parsing from the words after `/plugin`."""

import shlex
from typing import Final, Literal

import msgspec

Scope = Literal["user", "project"]
SCOPE_OPTION: Final = "--scope"
AGREE_OPTION: Final = "--agree"


class ListPlugins(msgspec.Struct, frozen=True):
    """List the installed plugins."""


class ShowPlugin(msgspec.Struct, frozen=True):
    """Show what a plugin contains."""

    name: str


class InstallPlugin(msgspec.Struct, frozen=True):
    """Install a plugin by `name@marketplace`, name, path or URL; if empty, those that the project wants."""

    what: str = ""
    scope: Scope | None = None


class UpdatePlugin(msgspec.Struct, frozen=True):
    """Update a plugin, or all."""

    name: str = ""


class SwitchPlugin(msgspec.Struct, frozen=True):
    """Enable or disable a plugin."""

    name: str
    is_enabled: bool


class UninstallPlugin(msgspec.Struct, frozen=True):
    """Uninstall a plugin."""

    name: str


class ListMarketplaces(msgspec.Struct, frozen=True):
    """List the marketplaces and what they offer."""


class AddMarketplace(msgspec.Struct, frozen=True):
    """Add a marketplace from a path, a URL, or `owner/name` of GitHub."""

    source: str


class UpdateMarketplace(msgspec.Struct, frozen=True):
    """Refresh a marketplace, or all."""

    name: str = ""


class RemoveMarketplace(msgspec.Struct, frozen=True):
    """Remove a marketplace and the plugins installed from it."""

    name: str


MarketplaceRequest = ListMarketplaces | AddMarketplace | UpdateMarketplace | RemoveMarketplace
PluginRequest = (
    ListPlugins | ShowPlugin | InstallPlugin | UpdatePlugin | SwitchPlugin | UninstallPlugin | MarketplaceRequest
)


class TypedRequest(msgspec.Struct, frozen=True):
    """A request, and the (prefix of the) digest that the user agrees to."""

    request: PluginRequest
    agreed: str = ""


def parse_plugin_request(text: str) -> TypedRequest | None:
    """Parse the words after `/plugin`; None if they are not a request."""
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    options: dict[str, str] = {}
    plain: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in (SCOPE_OPTION, AGREE_OPTION):
            options[word] = next(rest, "")
        elif word.startswith("-"):
            return None
        else:
            plain.append(word)
    try:
        scope = msgspec.convert(options.get(SCOPE_OPTION), Scope | None)
    except msgspec.ValidationError:
        return None
    request = request_from_words(plain, scope)
    return None if request is None else TypedRequest(request, options.get(AGREE_OPTION, ""))


def request_from_words(words: list[str], scope: Scope | None = None) -> PluginRequest | None:
    """The request of an action with its arguments; None if there is no such action."""
    match words:
        case [] | ["list"]:
            return ListPlugins()
        case ["show", name]:
            return ShowPlugin(name)
        case ["install", *what] if len(what) <= 1:
            return InstallPlugin("".join(what), scope)
        case ["update", *name] if len(name) <= 1:
            return UpdatePlugin("".join(name))
        case ["enable" | "disable" as verb, name]:
            return SwitchPlugin(name, verb == "enable")
        case ["uninstall" | "remove", name]:
            return UninstallPlugin(name)
        case ["marketplace", *more]:
            return _marketplace_request(more)
    return None


def _marketplace_request(words: list[str]) -> PluginRequest | None:
    match words:
        case [] | ["list"]:
            return ListMarketplaces()
        case ["add", source]:
            return AddMarketplace(source)
        case ["update", *name] if len(name) <= 1:
            return UpdateMarketplace("".join(name))
        case ["remove", name]:
            return RemoveMarketplace(name)
    return None
