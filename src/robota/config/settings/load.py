"""The settings that hold: all layers read, checked, filtered and laid over one another."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from robota.config.errors import ConfigError
from robota.config.paths import MANAGED_SETTINGS, settings_path
from robota.config.settings.environment_layer import from_environment
from robota.config.settings.key_path import KeyPath
from robota.config.settings.layers import Layer, Origin, built_in, check_layer, from_flags, read_layer
from robota.config.settings.legacy_provider import with_legacy_provider
from robota.config.settings.merge import Entry, merged, nested
from robota.config.settings.problems import SettingsProblem, Severity
from robota.config.settings.schema import SettingsFile
from robota.config.settings.workspace_layers import WorkspaceSettings, read_workspace
from robota.config.trust.decision import Trust
from robota.protocol.permission_mode import PermissionMode


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What holds (`values`), who said so (`entries`), what is wrong, and what of the workspace was not heard."""

    values: SettingsFile = SettingsFile()
    entries: tuple[Entry, ...] = ()
    problems: tuple[SettingsProblem, ...] = ()
    ignored: tuple[str, ...] = ()
    trust: Trust | None = None

    def origin(self, key: KeyPath) -> Origin | None:
        """Who set this; of a gathered list, the highest layer that adds to it."""
        return next((entry.origin for entry in reversed(self.entries) if entry.key == key), None)

    @property
    def is_trusted(self) -> bool:
        """Whether what the workspace brings was trusted, or it brings nothing."""
        return self.trust is None or self.trust.is_given

    @property
    def errors(self) -> tuple[SettingsProblem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    @property
    def notices(self) -> tuple[str, ...]:
        """Lines for the person: what was left out, and why."""
        warnings = (problem.message for problem in self.problems if problem.severity is Severity.WARNING)
        return (*warnings, *self.ignored)


def load_settings(
    root: Path | None,
    env: Mapping[str, str],
    *,
    flags: Mapping[str, Any] | None = None,
    managed: Path = MANAGED_SETTINGS,
) -> Settings:
    """All layers, for a workspace (`root`) or for none. Never fails for a wrong file: see `problems`."""
    user = check_layer(with_legacy_provider(read_layer(Layer.USER, settings_path(env))))
    workspace = WorkspaceSettings() if root is None else read_workspace(root, env)
    layers = [
        built_in(),
        user,
        *workspace.layers,
        *from_environment(env),
        from_flags(flags or {}),
        check_layer(read_layer(Layer.MANAGED, managed)),
    ]
    entries = merged(layers)
    return Settings(
        values=msgspec.convert(nested(entries), SettingsFile),
        entries=entries,
        problems=tuple(problem for layer in layers for problem in layer.problems),
        ignored=workspace.ignored,
        trust=workspace.trust,
    )


def refuse_errors(settings: Settings) -> None:
    """Raise `ConfigError` if going on could do what the person, or who manages the machine, forbade."""
    if settings.errors:
        problems = "\n".join(problem.message for problem in settings.errors)
        raise ConfigError(f"{problems}\nNothing was started. Correct it and try again; `robota doctor` checks it all.")
    permissions = settings.values.permissions
    if permissions.disable_bypass_permissions_mode and permissions.default_mode is PermissionMode.BYPASS:
        origin = settings.origin(("permissions", "disableBypassPermissionsMode"))
        raise ConfigError(
            f"The permission mode bypassPermissions is forbidden by {origin.where if origin else 'the settings'}. "
            "Nothing was started. Choose another --permission-mode."
        )


def refuse_untrusted(settings: Settings) -> None:
    """Raise `ConfigError` if the workspace brings configuration that nobody trusted."""
    if settings.trust is not None and not settings.trust.is_given:
        why = settings.trust.state
        raise ConfigError(
            f"This workspace is {why}, and --require-trust was given. Nothing was started. "
            f"Look at what it would load and decide: robota trust"
        )
