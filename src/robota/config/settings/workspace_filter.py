"""Filters the settings of a repository: some are always allowed, some after trust, the rest never."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from robota.config.settings.key_path import KeyPath
from robota.config.settings.layers import CLAUDE_LAYERS, Layer
from robota.config.settings.validation import TYPES

# Settings that can only restrict.
ALWAYS: Final = frozenset(
    {
        ("permissions", "deny"),
        ("permissions", "ask"),
        ("permissions", "disableBypassPermissionsMode"),
        ("disabledMcpjsonServers",),
    }
)
AFTER_TRUST: Final = frozenset(
    {
        ("permissions", "allow"),
        ("budgets", "session"),
        ("budgets", "agent"),
        ("budgets", "project"),
        ("hooks",),
        ("env",),
        ("mcpServers",),
        ("enabledPlugins",),
        ("extraKnownMarketplaces",),
        ("language",),
        ("model",),
        ("fallbackModels",),
        ("models",),
        ("completion",),
        ("checks",),
        ("outputStyle",),
    }
)

SPLIT: Final = frozenset({"permissions", "budgets"})

# The settings of Claude Code that are used; others that affect safety are reported.
CLAUDE_TAKEN: Final = frozenset(
    {
        "permissions",
        "hooks",
        "env",
        "model",
        "enabledPlugins",
        "extraKnownMarketplaces",
        "outputStyle",
        "disabledMcpjsonServers",
    }
)
CLAUDE_NAMED: Final = frozenset({"apiKeyHelper", "sandbox", "statusLine", "enableAllProjectMcpServers"})
CLAUDE_PERMISSIONS: Final = frozenset(
    {"allow", "ask", "deny", "defaultMode", "disableBypassPermissionsMode", "additionalDirectories"}
)


class AdmittedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The accepted settings of a workspace file, those a repository can never set, and those that need trust."""

    raw: dict[str, Any]
    never: tuple[KeyPath, ...] = ()
    untrusted: tuple[KeyPath, ...] = ()


def admitted(raw: Mapping[str, Any], layer: Layer, *, trusted: bool) -> AdmittedSettings:
    """Split the settings of a workspace into accepted, forbidden and untrusted ones."""
    never: list[KeyPath] = []
    untrusted: list[KeyPath] = []
    accepted: dict[str, Any] = {}
    for key, value in _settings(_of_claude(raw) if layer in CLAUDE_LAYERS else raw):
        is_known = key[0] in TYPES or layer in CLAUDE_LAYERS
        if is_known and key not in ALWAYS | AFTER_TRUST:
            never.append(key)
        elif is_known and key in AFTER_TRUST and not trusted:
            untrusted.append(key)
        else:
            _set_value(accepted, key, value)
    return AdmittedSettings(raw=accepted, never=tuple(never), untrusted=tuple(untrusted))


def _settings(raw: Mapping[str, Any]) -> list[tuple[KeyPath, Any]]:
    """The settings with their keys; `permissions` and `budgets` are split into their parts."""
    settings: list[tuple[KeyPath, Any]] = []
    for name, value in raw.items():
        if name in SPLIT and isinstance(value, dict):
            settings += [((name, inner), item) for inner, item in value.items()]
        elif name == "permissions":
            # Invalid anyway, which validation reports later.
            settings.append(((name, "deny"), value))
        elif name != "$schema":
            settings.append(((name,), value))
    return settings


def _of_claude(raw: Mapping[str, Any]) -> dict[str, Any]:
    taken = {name: value for name, value in raw.items() if name in CLAUDE_TAKEN | CLAUDE_NAMED}
    permissions = taken.get("permissions")
    if isinstance(permissions, dict):
        taken["permissions"] = {name: value for name, value in permissions.items() if name in CLAUDE_PERMISSIONS}
    return taken


def _set_value(accepted: dict[str, Any], key: KeyPath, value: Any) -> None:
    if len(key) == 1:
        accepted[key[0]] = value
    else:
        accepted.setdefault(key[0], {})[key[1]] = value
