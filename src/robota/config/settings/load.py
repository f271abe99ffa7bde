"""The effective settings: all layers read, validated, filtered and merged."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.paths import MANAGED_SETTINGS, settings_path
from robota.config.settings.environment_layer import from_environment
from robota.config.settings.key_path import KeyPath
from robota.config.settings.layers import Layer, LayerText, Origin, built_in, check_layer, from_flags, read_layer
from robota.config.settings.merge import Entry, merged, nested
from robota.config.settings.problems import SettingsProblem, Severity
from robota.config.settings.schema import SettingsFile
from robota.config.settings.workspace_layers import WorkspaceSettings, read_workspace
from robota.config.trust.decision import Trust
from robota.protocol.permission_mode import PermissionMode

KEY: Final = "provider"
REPLACED_BY: Final = frozenset({"providers", "currentProvider"})
FIELDS: Final = ("model", "apiKey", "baseURL", "timeout", "options")
OPTIONS: Final = {"model": "--model", "baseURL": "--base-url"}
HOW_TO_REMOVE: Final = "robota config unset provider"


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
    reads_project: bool = True,
) -> Settings:
    """Load all layers, with or without a workspace (`root`). Never fails for an invalid file: see `problems`.

    Without `reads_project`, the configuration of the workspace counts as not trusted: only what it forbids applies.
    """
    user = check_layer(with_legacy_provider(read_layer(Layer.USER, settings_path(env))))
    workspace = WorkspaceSettings() if root is None else read_workspace(root, env, may_trust=reads_project)
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


def with_legacy_provider(parsed: LayerText) -> LayerText:
    """The file with `provider` converted to a profile, if it has no profiles."""
    legacy = parsed.raw.get(KEY)
    if legacy is None:
        return parsed
    rest = {name: value for name, value in parsed.raw.items() if name != KEY}
    if not REPLACED_BY.isdisjoint(rest):
        text = f"it has no effect together with providers and currentProvider; to remove it: {HOW_TO_REMOVE}"
        return _with_notice(parsed, rest, text)
    type_name = legacy.get("name") if isinstance(legacy, dict) else None
    if not isinstance(type_name, str) or not type_name:
        text = "this old setting must be an object with a name, such as anthropic, so it has no effect"
        return _with_notice(parsed, rest, f"{text}; set up a provider: robota --configure")
    profile = {"type": type_name, **{field: legacy[field] for field in FIELDS if field in legacy}}
    return _with_notice(parsed, {**rest, "providers": {type_name: profile}}, _how_to_move(type_name, legacy))


def _how_to_move(type_name: str, legacy: Mapping[str, Any]) -> str:
    fields = [f"{option} {legacy[field]}" for field, option in OPTIONS.items() if field in legacy]
    key = ["--api-key-env VARIABLE"] if "apiKey" in legacy else []
    command = " ".join(["robota --configure-provider", type_name, "--type", type_name, *fields, *key, "--set-current"])
    return f"the old way to set a provider, still used as profile {type_name!r}; move it: {command}; {HOW_TO_REMOVE}"


def _with_notice(parsed: LayerText, raw: dict[str, Any], text: str) -> LayerText:
    problem = SettingsProblem(where=parsed.origin.where, key=KEY, text=text, severity=Severity.WARNING)
    return msgspec.structs.replace(parsed, raw=raw, problems=(*parsed.problems, problem))
