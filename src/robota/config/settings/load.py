"""The effective settings: all layers read, validated, filtered and merged."""

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
    """The effective `values`, their origins (`entries`), the problems, and what of the workspace was ignored."""

    values: SettingsFile = SettingsFile()
    entries: tuple[Entry, ...] = ()
    problems: tuple[SettingsProblem, ...] = ()
    ignored: tuple[str, ...] = ()
    trust: Trust | None = None

    def origin(self, key: KeyPath) -> Origin | None:
        """The origin of a setting; for a joined list, the highest layer that adds to it."""
        return next((entry.origin for entry in reversed(self.entries) if entry.key == key), None)

    @property
    def is_trusted(self) -> bool:
        """Whether the configuration of the workspace is trusted, or it has none."""
        return self.trust is None or self.trust.is_given

    @property
    def errors(self) -> tuple[SettingsProblem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    @property
    def notices(self) -> tuple[str, ...]:
        """Messages for the user about what was left out, and why."""
        warnings = (problem.message for problem in self.problems if problem.severity is Severity.WARNING)
        return (*warnings, *self.ignored)


def load_settings(
    root: Path | None,
    env: Mapping[str, str],
    *,
    flags: Mapping[str, Any] | None = None,
    managed: Path = MANAGED_SETTINGS,
) -> Settings:
    """Load all layers, with or without a workspace (`root`). Never fails for an invalid file: see `problems`."""
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
    """Raise `ConfigError` if a problem could hide a rule of the user or administrator that forbids something."""
    if settings.errors:
        problems = "\n".join(problem.message for problem in settings.errors)
        raise ConfigError(f"{problems}\nNothing was started. Correct it and try again; `robota doctor` checks it.")
    permissions = settings.values.permissions
    if permissions.disable_bypass_permissions_mode and permissions.default_mode is PermissionMode.BYPASS:
        origin = settings.origin(("permissions", "disableBypassPermissionsMode"))
        raise ConfigError(
            f"The permission mode bypassPermissions is forbidden by {origin.where if origin else 'the settings'}. "
            "Nothing was started. Choose another --permission-mode."
        )


def refuse_untrusted(settings: Settings) -> None:
    """Raise `ConfigError` if the workspace has configuration that is not trusted."""
    if settings.trust is not None and not settings.trust.is_given:
        why = settings.trust.state
        raise ConfigError(
            f"This workspace is {why}, and --require-trust was given. Nothing was started. To review it and decide: "
            "robota trust"
        )
