"""What can be asked of plugins and marketplaces, and how it is typed behind `/plugin`."""

import shlex
from typing import Final, Literal

import msgspec

Scope = Literal["user", "project"]
SCOPE_OPTION: Final = "--scope"
AGREE_OPTION: Final = "--agree"


class ListPlugins(msgspec.Struct, frozen=True):
    """What is installed."""


class ShowPlugin(msgspec.Struct, frozen=True):
    """What one brings."""

    name: str


class InstallPlugin(msgspec.Struct, frozen=True):
    """Install one: `name@marketplace`, a name, a path or an address; without one, those that the project wants."""

    what: str = ""
    scope: Scope | None = None


class UpdatePlugin(msgspec.Struct, frozen=True):
    """Fetch one anew, or all."""

    name: str = ""


class SwitchPlugin(msgspec.Struct, frozen=True):
    """Enable one, or disable it."""

    name: str
    is_enabled: bool


class UninstallPlugin(msgspec.Struct, frozen=True):
    """Remove one."""

    name: str


class ListMarketplaces(msgspec.Struct, frozen=True):
    """What the marketplaces offer."""


class AddMarketplace(msgspec.Struct, frozen=True):
    """Know a marketplace from a path, an address, or `owner/name` of GitHub."""

    source: str


class UpdateMarketplace(msgspec.Struct, frozen=True):
    """Look anew at what one offers, or all."""

    name: str = ""


class RemoveMarketplace(msgspec.Struct, frozen=True):
    """Forget one, and remove the plugins that came from it."""

    name: str


MarketplaceRequest = ListMarketplaces | AddMarketplace | UpdateMarketplace | RemoveMarketplace
PluginRequest = (
    ListPlugins | ShowPlugin | InstallPlugin | UpdatePlugin | SwitchPlugin | UninstallPlugin | MarketplaceRequest
)


class TypedRequest(msgspec.Struct, frozen=True):
    """A request, and the digest of what the person agrees to with it."""

    request: PluginRequest
    agreed: str = ""


def parse_order(text: str) -> TypedRequest | None:
    """The request in the words behind `/plugin`; None if it is none."""
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
    request = request_of_words(plain, scope)
    return None if request is None else TypedRequest(request, options.get(AGREE_OPTION, ""))


def request_of_words(words: list[str], scope: Scope | None = None) -> PluginRequest | None:
    """The request that an action and its words mean; None if they mean none."""
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
            return _marketplace_order(more)
    return None


def _marketplace_order(words: list[str]) -> PluginRequest | None:
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
