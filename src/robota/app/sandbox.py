"""Builds the sandbox for commands, and selects the environment variables that are withheld from them."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import robota
from robota.config.paths import home_directory, user_directory
from robota.config.settings.load import Settings
from robota.contracts.workspace import CommandReach
from robota.protocol.permission_mode import PermissionMode
from robota.secrets.named_values import referenced_variables
from robota.workspace.process.withheld_variables import WithheldVariables
from robota.workspace.sandbox.session_sandbox import HomeSettings, SessionSandbox

ALWAYS_KEPT_OUT: Final = ("writing outside the workspace", "your home directory except for tools and caches")


def session_sandbox(settings: Settings, root: Path, env: Mapping[str, str]) -> SessionSandbox | None:
    """The sandbox; None if it is disabled or the permission mode is bypassPermissions."""
    values = settings.values
    if not values.sandbox.enabled or values.permissions.default_mode is PermissionMode.BYPASS:
        return None
    return SessionSandbox(
        root,
        home=home_directory(env),
        user_directory=user_directory(env),
        home_settings=HomeSettings(readable=values.sandbox.readable, as_workspace=values.sandbox.home_as_workspace),
        network=values.sandbox.network,
        allowed_hosts=values.sandbox.allowed_hosts,
    )


def command_reach(kind: str | None, settings: Settings) -> CommandReach:
    """What commands can reach in a sandbox of this kind; None before the first command has detected it."""
    wanted = settings.values.sandbox
    if kind in ("off", "none"):
        return CommandReach(lacks_sandbox=kind == "none")
    if wanted.allowed_hosts:
        return CommandReach(is_sandboxed=True, hosts=() if kind == "landlock" else tuple(wanted.allowed_hosts))
    return CommandReach(is_sandboxed=True, hosts=None if wanted.network else ())


def holds_robota(root: Path) -> bool:
    """Whether Robota itself, or the Python that runs it, is installed in the workspace."""
    return any(Path(place).is_relative_to(root) for place in (sys.prefix, *robota.__path__))


def kept_out(kind: str, settings: Settings) -> str:
    """A description of what a sandbox of this kind denies to commands; empty for none."""
    if kind == "none":
        return ""
    sandbox = settings.values.sandbox
    hosts = ", ".join(sandbox.allowed_hosts) if kind == "bubblewrap" else ""
    if sandbox.allowed_hosts:
        network = f"the network except {hosts}" if hosts else "the network"
    else:
        network = "" if sandbox.network else "the network"
    return ", ".join(part for part in (network, *ALWAYS_KEPT_OUT) if part)


def withheld_variables(settings: Settings) -> WithheldVariables:
    """The variables that commands, MCP servers and hooks do not get: keys of profiles, and what looks like a secret."""
    profiles = settings.values.providers.values()
    named = {name for profile in profiles for name in referenced_variables([profile.api_key, profile.options])}
    return WithheldVariables(named=frozenset(named), passed=frozenset(settings.values.sandbox.pass_env))
