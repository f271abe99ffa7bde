"""What a person asked for when starting a session, and the settings that follow from it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.config.settings.environment_layer import switched
from robota.config.settings.load import Settings, load_settings, refuse_errors, refuse_untrusted
from robota.config.settings.schema import SettingsFile
from robota.protocol.permission_mode import PermissionMode


class LaunchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything but the directory has a default."""

    cwd: Path
    kept_in: Path | None = None  # the project that keeps the session, if it is not the one it works in
    provider: str | None = None
    profile: Profile | None = None  # instead of the settings: who brings a profile brings everything
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    permission_mode: PermissionMode | None = None
    mode: str | None = None
    completion: str | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    max_turns: int | None = None
    max_cost: float | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    language: str | None = None
    settings: dict[str, Any] = {}  # of the command line, over those of the files
    require_trust: bool = False
    session_id: str | None = None
    resumes: Path | None = None  # the directory of a session to go on with
    name: str | None = None
    attended: bool = True
    needs_model: bool = True  # a single tool call does without


def workspace_root(cwd: Path) -> Path:
    """The real path of the directory to work in."""
    try:
        root = cwd.resolve(strict=True)
    except OSError as error:
        raise ConfigError(f"The directory {cwd} cannot be used: {error.strerror}. Nothing was started.") from error
    if not root.is_dir():
        raise ConfigError(f"{cwd} is not a directory. Nothing was started.")
    return root


def settings_for(launch: LaunchOptions, root: Path, env: Mapping[str, str]) -> Settings:
    """Everything that was set, the command line included, or `ConfigError` if going on with it would be unsafe."""
    if launch.profile is not None:
        return Settings(values=msgspec.convert({**_flags(launch), **switched(env)}, SettingsFile))
    settings = load_settings(root, env, flags=_flags(launch))
    refuse_errors(settings)
    if launch.require_trust:
        refuse_untrusted(settings)
    return settings


def _flags(launch: LaunchOptions) -> dict[str, Any]:
    """What was asked for, as a layer of the settings: a managed file can still overrule it."""
    flags = {
        "currentProvider": launch.provider,
        "model": launch.model,
        "fallbackModels": list(launch.fallback_models) or None,
        "language": launch.language,
        "completion": launch.completion,
        "permissions": {"defaultMode": launch.permission_mode} if launch.permission_mode else None,
    }
    return _over(launch.settings, {name: value for name, value in flags.items() if value is not None})


def _over(settings: dict[str, Any], flags: dict[str, Any]) -> dict[str, Any]:
    """An option of its own wins over the same in `--settings`; an object takes in the other."""
    both = {
        name: {**said, **flags[name]}
        for name, said in settings.items()
        if isinstance(said, dict) and isinstance(flags.get(name), dict)
    }
    return {**settings, **flags, **both}
