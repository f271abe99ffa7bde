"""Resolves everything that a session is built from and that can fail, before anything is created."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from robota.app.extensions import configured_servers, outside_code, session_plugins
from robota.app.policy import session_policy, task_modes
from robota.app.provider import model_access, require_known_prices, resolve_profile
from robota.app.sandbox import holds_robota, session_sandbox
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions, settings_for, workspace_root
from robota.config.profiles.profile import Profile
from robota.config.settings.languages import response_sentence
from robota.config.settings.load import Settings
from robota.config.settings.schema import Completion, SettingsFile
from robota.engine.runtime.options import DEFAULT_MODE, Options, ToolFormat
from robota.engine.runtime.services import ModelAccess
from robota.log.kinds.session import kept_name
from robota.policy.decide import SessionPolicy
from robota.policy.modes.task_modes import TaskModes
from robota.protocol.events import UsedPlugin
from robota.protocol.permission_mode import PermissionMode
from robota.providers.registry import definition
from robota.secrets.redaction import Redactor
from robota.workspace.sandbox.session_sandbox import SessionSandbox

if TYPE_CHECKING:
    from robota.engine.runtime.options import StyleOptions
    from robota.extensions.mcp.servers import McpServers
    from robota.extensions.plugins.active import ActivePlugin
    from robota.workspace.outside_code.outside_code import OutsideCode


class SessionParts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a session is built from. What can fail is resolved here, before anything is created."""

    root: Path
    kept_in: Path
    settings: Settings
    profile: Profile
    options: Options  # without the session id
    model: ModelAccess
    sandbox: SessionSandbox | None
    policy: SessionPolicy
    modes: TaskModes
    plugins: "tuple[ActivePlugin, ...]"
    servers: "McpServers | None"
    code: "OutsideCode | None"
    notices: tuple[str, ...]


def resolve_parts(launch: LaunchOptions, env: Mapping[str, str], redactor: Redactor, undo: ExitStack) -> SessionParts:
    """Find everything out. `undo` releases what is held, if opening the session fails."""
    root = workspace_root(launch.cwd)
    settings = settings_for(launch, root, env)
    profile = _profile(launch, redactor, env, settings)
    sandbox = _sandbox(settings, root, env, undo)
    policy, rule_notices = session_policy(launch, settings, root, sandbox, env)
    modes, mode_notices = task_modes(launch, settings, root, env)
    plugins, plugin_notices = session_plugins(settings, launch.kept_in or root, env)
    options, style_notices = _options(launch, settings, profile, plugins, root, env)
    code = outside_code(settings, plugins, root, env, attended=launch.attended)
    servers, server_notices = configured_servers(settings, plugins, code, root, launch.kept_in or root, env)
    return SessionParts(
        root=root,
        kept_in=launch.kept_in or root,
        settings=settings,
        profile=profile,
        options=options,
        model=_model(launch, redactor, env, root, profile),
        sandbox=sandbox,
        policy=_guarded(policy, sandbox, code, root),
        modes=modes,
        plugins=plugins,
        servers=servers,
        code=code,
        notices=(*settings.notices, *rule_notices, *mode_notices, *plugin_notices, *style_notices, *server_notices),
    )


def _profile(launch: LaunchOptions, redactor: Redactor, env: Mapping[str, str], settings: Settings) -> Profile:
    profile = resolve_profile(launch, settings, env)
    require_known_prices(launch, settings, profile)
    redactor.add(profile.api_key or "")
    return profile


def _model(
    launch: LaunchOptions, redactor: Redactor, env: Mapping[str, str], root: Path, profile: Profile
) -> ModelAccess:
    """The model. While a user is there who may correct the settings, the profile is read again after a failure."""

    def read_again() -> Profile:
        return _profile(launch, redactor, env, settings_for(launch, root, env))

    return model_access(profile, read_again if launch.attended and launch.profile is None else None)


def _sandbox(settings: Settings, root: Path, env: Mapping[str, str], undo: ExitStack) -> SessionSandbox | None:
    sandbox = session_sandbox(settings, root, env)
    if sandbox is not None:
        undo.callback(sandbox.close)
    return sandbox


def _guarded(
    policy: SessionPolicy, sandbox: SessionSandbox | None, code: "OutsideCode | None", root: Path
) -> SessionPolicy:
    if code is None and not holds_robota(root):
        return policy
    from robota.app.protection.outside_code import guarded

    return guarded(policy, sandbox, code, root)


def _options(
    launch: LaunchOptions,
    settings: Settings,
    profile: Profile,
    plugins: "tuple[ActivePlugin, ...]",
    root: Path,
    env: Mapping[str, str],
) -> tuple[Options, tuple[str, ...]]:
    """The options, and notices about the output style."""
    style, notices = _style(settings, plugins, root, env)
    launch = _with_preset(launch, settings, root, env)
    used = tuple(UsedPlugin(name=plugin.name, path=str(plugin.root)) for plugin in plugins)
    options = _session_options(launch, settings.values, profile, root)
    return msgspec.structs.replace(options, style=style, plugins=used), notices


def _style(
    settings: Settings, plugins: "tuple[ActivePlugin, ...]", root: Path, env: Mapping[str, str]
) -> "tuple[StyleOptions | None, tuple[str, ...]]":
    if settings.values.output_style is None:
        return None, ()
    from robota.app.knowledge.output_styles import resolve_style

    return resolve_style(settings, plugins, root, env)


def _with_preset(launch: LaunchOptions, settings: Settings, root: Path, env: Mapping[str, str]) -> LaunchOptions:
    """Replace `@NAME` in --append-system-prompt by the text of a preset or file."""
    written = launch.append_system_prompt or ""
    if not written.startswith("@") or len(written.split()) != 1:
        return launch
    from robota.app.knowledge.output_styles import preset_text

    return msgspec.structs.replace(launch, append_system_prompt=preset_text(written, settings, root, env))


def _session_options(launch: LaunchOptions, settings: SettingsFile, profile: Profile, root: Path) -> Options:
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
