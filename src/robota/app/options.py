"""Builds the options of a session from the command line, the settings and the provider profile."""

from pathlib import Path

from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.profile import Profile
from robota.config.settings.languages import response_sentence
from robota.config.settings.schema import Completion, SettingsFile
from robota.engine.runtime.options import DEFAULT_MODE, Options, ToolFormat
from robota.log.kinds.session import kept_name
from robota.protocol.permission_mode import PermissionMode
from robota.providers.registry import definition


def session_options(launch: LaunchOptions, settings: SettingsFile, profile: Profile, root: Path) -> Options:
    """The options, with an empty session id, which is not known yet. Raises `ConfigError`."""
    appended = (launch.append_system_prompt, response_sentence(settings.language))
    return Options(
        launch=launch,
        settings=settings,
        session_id="",
        cwd=root,
        model=profile.model or "",
        provider_name=profile.name or profile.type,
        name=kept_name(launch.name),
        mode=launch.mode or DEFAULT_MODE,
        permission_mode=settings.permissions.default_mode or PermissionMode.DEFAULT,
        completion=settings.completion or Completion.IMPLICIT,
        tool_format=_tool_format(profile),
        append_system_prompt="\n\n".join(text for text in appended if text) or None,
    )


def _tool_format(profile: Profile) -> ToolFormat:
    wanted = profile.options.get("toolFormat")
    if wanted is None:
        native = definition(profile.type).model_info(profile).native_tools
        return ToolFormat.NATIVE if native else ToolFormat.XML
    try:
        return ToolFormat(wanted)
    except ValueError as error:
        known = ", ".join(ToolFormat)
        problem = f"options.toolFormat of profile {profile.name!r} is {wanted!r}; it can be {known}."
        raise ConfigError(f"{problem} Nothing was started.") from error
