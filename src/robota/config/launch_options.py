"""The options of a session start, and the settings that result from them."""

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
    """The options of a session start. Only the directory has no default."""

    cwd: Path
    kept_in: Path | None = None  # the project whose directory holds the session, if it works elsewhere
    provider: str | None = None
    profile: Profile | None = None  # replaces the profiles of the settings completely
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
    settings: dict[str, Any] = {}  # from the command line; they override those of files
    require_trust: bool = False
    session_id: str | None = None
    resumes: Path | None = None  # the directory of the session to resume
    name: str | None = None
    attended: bool = True
    needs_model: bool = True  # not needed for a single tool call


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
    """All settings, the command line included. Raises `ConfigError` if starting with them would be unsafe."""
    if launch.profile is not None:
        return Settings(values=msgspec.convert({**_flags(launch), **switched(env)}, SettingsFile))
    settings = load_settings(root, env, flags=_flags(launch))
    refuse_errors(settings)
    if launch.require_trust:
        refuse_untrusted(settings)
    return settings


def _flags(launch: LaunchOptions) -> dict[str, Any]:
    """The options as a layer of settings, which a managed file can still override."""
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
    """Merge options over `--settings`: an option wins, objects are merged."""
    both = {
        name: {**value, **flags[name]}
        for name, value in settings.items()
        if isinstance(value, dict) and isinstance(flags.get(name), dict)
    }
    return {**settings, **flags, **both}
