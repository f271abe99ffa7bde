"""Resolves everything that a session is built from and that can fail, before anything is created."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from robota.app.extensions import configured_servers, outside_code, session_plugins, with_named_plugins
from robota.app.knowledge.skills import has_skills
from robota.app.policy import session_policy, task_modes
from robota.app.provider import model_access, require_known_prices, resolve_profile
from robota.app.sandbox import SessionConfinement, holds_robota, session_sandbox
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions, settings_for, workspace_root
from robota.config.profiles.profile import Profile
from robota.config.settings.languages import response_sentence
from robota.config.settings.load import Settings
from robota.config.settings.schema import BudgetSettings, Completion, SettingsFile
from robota.engine.runtime.options import DEFAULT_MODE, Options, ToolFormat
from robota.engine.runtime.services import ModelAccess
from robota.log.kinds.session import kept_name
from robota.policy.decide import SessionPolicy
from robota.policy.modes.task_modes import TaskModes
from robota.protocol.events import UsedPlugin
from robota.protocol.permission_mode import PermissionMode
from robota.providers.registry import KnownProviders
from robota.secrets.redaction import Redactor
from robota.workspace.sandbox.session_sandbox import SessionSandbox

if TYPE_CHECKING:
    from robota.app.knowledge.bundles import SessionBundles
    from robota.engine.budgets.session_budget import BudgetPlan
    from robota.engine.runtime.options import StyleOptions
    from robota.extensions.mcp.servers import McpServers
    from robota.extensions.plugins.active import ActivePlugin
    from robota.intents.selection import IntentSelection
    from robota.workspace.outside_code.outside_code import OutsideCode


class OutsidePrograms(msgspec.Struct, frozen=True, kw_only=True):
    """What runs outside the sandbox: the MCP servers, and the comparison of the files that all such programs run."""

    servers: "McpServers | None"
    code: "OutsideCode | None"
    notices: tuple[str, ...]


class SessionParts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a session is built from. What can fail is resolved here, before anything is created."""

    root: Path
    settings: Settings
    options: Options  # without the session id
    model: ModelAccess
    sandbox: SessionSandbox | None
    policy: SessionPolicy
    modes: TaskModes
    plugins: "tuple[ActivePlugin, ...]"
    programs: OutsidePrograms
    bundles: "SessionBundles | None"
    notices: tuple[str, ...]

    @property
    def kept_in(self) -> Path:
        """The project whose directory holds the session."""
        return self.options.launch.kept_in or self.root


def resolve_parts(launch: LaunchOptions, env: Mapping[str, str], redactor: Redactor, undo: ExitStack) -> SessionParts:
    """Resolve everything that can fail. `undo` releases what is held if opening the session fails."""
    root = workspace_root(launch.cwd)
    settings = settings_for(launch, root, env)
    profile = _profile(launch, redactor, env, settings)
    sandbox = _sandbox(settings, root, env, undo)
    policy, rule_notices = session_policy(launch, settings, root, sandbox, env)
    modes, mode_notices = task_modes(launch, settings, root, env)
    plugins, plugin_notices = _plugins(launch, settings, root, env)
    options, option_notices = _options(launch, settings, profile, plugins, root, env, sandbox)
    bundles = _bundles(settings, plugins, root, env, sandbox)
    programs = _programs(launch, settings, plugins, root, env)
    return SessionParts(
        root=root,
        settings=settings,
        options=options,
        model=_model(launch, redactor, env, root, profile),
        sandbox=sandbox,
        policy=_guarded(policy, sandbox, bundles, programs.code, root),
        bundles=bundles,
        modes=modes,
        plugins=plugins,
        programs=programs,
        notices=(*settings.notices, *rule_notices, *mode_notices, *plugin_notices, *option_notices, *programs.notices),
    )


def _plugins(
    launch: LaunchOptions, settings: Settings, root: Path, env: Mapping[str, str]
) -> "tuple[tuple[ActivePlugin, ...], tuple[str, ...]]":
    plugins, notices = session_plugins(settings, launch.kept_in or root, env)
    plugins, more = with_named_plugins(plugins, launch.plugin_dir, root, env)
    return plugins, (*notices, *more)


def session_limits(
    parts: SessionParts, launch: LaunchOptions, env: Mapping[str, str], selection: "IntentSelection | None"
) -> "BudgetPlan | None":
    """What limits the spending of the session; None if nothing does. Intents may have budgets."""
    budgets = parts.settings.values.budgets
    options = (launch.max_cost, launch.max_tokens_total, None if launch.place is None else launch.place.budget)
    is_limited = budgets != BudgetSettings() or any(limit is not None for limit in options)
    if not is_limited and selection is None:
        return None
    # Imported here because few sessions are limited.
    from robota.app.budgets import session_budgets

    return session_budgets(budgets, launch, parts.kept_in, env, selection)


def _programs(
    launch: LaunchOptions, settings: Settings, plugins: "tuple[ActivePlugin, ...]", root: Path, env: Mapping[str, str]
) -> OutsidePrograms:
    code = outside_code(settings, plugins, root, env, attended=launch.attended)
    only = tuple(launch.settings.get("mcpServers", {})) if launch.strict_mcp_config else None
    servers, notices = configured_servers(settings, plugins, code, root, launch.kept_in or root, env, only)
    return OutsidePrograms(servers=servers, code=code, notices=notices)


def _profile(launch: LaunchOptions, redactor: Redactor, env: Mapping[str, str], settings: Settings) -> Profile:
    profile = resolve_profile(launch, settings, env)
    require_known_prices(launch, settings, profile)
    redactor.add(profile.api_key or "")
    return profile


def _model(
    launch: LaunchOptions, redactor: Redactor, env: Mapping[str, str], root: Path, profile: Profile
) -> ModelAccess:
    """The model.

    In an attended session, the profile is read again after a failure, because the user may have corrected it.
    """

    def read_again() -> Profile:
        return _profile(launch, redactor, env, settings_for(launch, root, env))

    reread = read_again if launch.attended and launch.profile is None else None
    return model_access(profile, reread, KnownProviders(launch.additions.provider_definitions))


def _sandbox(settings: Settings, root: Path, env: Mapping[str, str], undo: ExitStack) -> SessionSandbox | None:
    sandbox = session_sandbox(settings, root, env)
    if sandbox is not None:
        undo.callback(sandbox.close)
    return sandbox


def _bundles(
    settings: Settings,
    plugins: "tuple[ActivePlugin, ...]",
    root: Path,
    env: Mapping[str, str],
    sandbox: SessionSandbox | None,
) -> "SessionBundles | None":
    """The files that come with skills and plugins, which commands see as well; None if there are no skills."""
    if not has_skills(settings, plugins, env):
        return None
    from robota.app.knowledge.bundles import SessionBundles

    bundles = SessionBundles(settings, plugins, root, env)
    if sandbox is not None:
        sandbox.show(bundles.shown_to_commands)
    return bundles


def _guarded(
    policy: SessionPolicy,
    sandbox: SessionSandbox | None,
    bundles: "SessionBundles | None",
    code: "OutsideCode | None",
    root: Path,
) -> SessionPolicy:
    """The policy, which also knows the files that come with skills and those that run outside the sandbox."""
    if bundles is not None:
        policy = msgspec.structs.replace(policy, bundled=bundles.holding)
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
    sandbox: SessionSandbox | None,
) -> tuple[Options, tuple[str, ...]]:
    """The options, and notices about the output style and the permission mode."""
    style, notices = _style(settings, plugins, root, env)
    launch = _with_preset(launch, settings, root, env)
    used = tuple(UsedPlugin(name=plugin.name, path=str(plugin.root)) for plugin in plugins)
    options = _session_options(launch, settings.values, profile, root)
    options, more = _confined_where_possible(options, settings, root, env, sandbox)
    if launch.agent is not None:
        from robota.app.agents import as_agent

        options = as_agent(options, launch, settings, plugins, root, env)
    return msgspec.structs.replace(options, style=style, plugins=used), (*notices, *more)


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
    appended = (launch.append_system_prompt, *launch.additions.prompt_parts, response_sentence(settings.language))
    return Options(
        launch=launch,
        settings=settings,
        session_id="",
        cwd=root,
        model=profile.model or "",
        provider_name=profile.name or profile.type,
        name=kept_name(launch.name),
        mode=launch.mode or DEFAULT_MODE,
        permission_mode=_permission_mode(launch, settings),
        completion=settings.completion or Completion.IMPLICIT,
        tool_format=_tool_format(profile, KnownProviders(launch.additions.provider_definitions)),
        own_requests=None if launch.place is None else launch.place.max_turns,
        append_system_prompt="\n\n".join(text for text in appended if text) or None,
    )


def _confined_where_possible(
    options: Options, settings: Settings, root: Path, env: Mapping[str, str], sandbox: SessionSandbox | None
) -> tuple[Options, tuple[str, ...]]:
    """The options without the mode confined where commands cannot be confined, and a notice that says why."""
    if options.permission_mode is not PermissionMode.CONFINED:
        return options, ()
    from robota.workspace.confinement import obstacle

    problem = obstacle(SessionConfinement(settings, root, env, sandbox).facts())
    if problem is None:
        return options, ()
    mode = PermissionMode.ACCEPT_EDITS
    notice = f"The permission mode confined cannot be used here: {problem}. The session starts in {mode} instead."
    return msgspec.structs.replace(options, permission_mode=mode), (notice,)


def _permission_mode(launch: LaunchOptions, settings: SettingsFile) -> PermissionMode:
    """The mode to start in. Only the user can set either: the settings of a workspace have none of them."""
    mode = settings.permissions.default_mode or PermissionMode.DEFAULT
    is_unset = mode is PermissionMode.DEFAULT and launch.permission_mode is None
    return PermissionMode.CONFINED if is_unset and settings.sandbox.auto_allow_bash_if_sandboxed else mode


def _tool_format(profile: Profile, known: KnownProviders) -> ToolFormat:
    configured = profile.options.get("toolFormat")
    if configured is None:
        native = known.definition(profile.type).model_info(profile).native_tools
        return ToolFormat.NATIVE if native else ToolFormat.XML
    try:
        return ToolFormat(configured)
    except ValueError as error:
        formats = ", ".join(ToolFormat)
        problem = f"options.toolFormat of profile {profile.name!r} is {configured!r}; it can be {formats}."
        raise ConfigError(f"{problem} Nothing was started.") from error
