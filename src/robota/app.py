"""The composition root: the only place that knows which concrete services a session is made of."""

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions, settings_for, workspace_root
from robota.config.paths import home_directory, user_directory
from robota.config.profiles.choice import select_profile
from robota.config.profiles.profile import Profile
from robota.config.settings.granted_rules import keep_rules
from robota.config.settings.languages import response_sentence
from robota.config.settings.load import Settings, load_settings
from robota.config.settings.schema import SettingsFile
from robota.contracts.hook import HookEvent, LifecycleHooks
from robota.contracts.tool import AnyTool
from robota.engine.calls.executor import Executed
from robota.engine.calls.single_call import call_once
from robota.engine.session.options import (
    AUTO_COMPACT_THRESHOLD,
    DEFAULT_MODE,
    Completion,
    ForeignTools,
    Options,
    SessionServices,
    ToolFormat,
)
from robota.engine.session.session import Session
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.writer import SessionLog
from robota.log.new_session import SESSION_ID_BYTES, NewSession, begin_session
from robota.log.store import new_session_id, session_directory
from robota.policy.judge import Judge
from robota.policy.modes.task_modes import TaskMode, allows, goes_beyond, known_modes, role_of
from robota.policy.protected.path_resolver import Places
from robota.policy.rules.sources import rules_of_options, rules_of_settings
from robota.policy.unattended import unattended
from robota.protocol.events import Notice
from robota.protocol.permission_mode import PermissionMode
from robota.providers.chunks import ToolSpec
from robota.providers.definition import Provider
from robota.providers.registry import definition, open_provider, ready
from robota.providers.retry import RetryPolicy, policy_from_options
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor
from robota.text.visible import single_line
from robota.tools.registry import builtin_tools, by_name, schema_of
from robota.workspace.files.files import Files
from robota.workspace.git.repository_safety import is_safe_repository
from robota.workspace.process.environment import without_loader_settings
from robota.workspace.process.processes import Processes
from robota.workspace.process.wrapped_command import unwrapped
from robota.workspace.sandbox.session_sandbox import SessionSandbox
from robota.workspace.shell.expansion import files_matching

if TYPE_CHECKING:
    from robota.extensions.mcp.servers import McpServers
    from robota.hooks.runner import Hooks

USER_MODES: Final = "modes.yaml"
WORKSPACE_MODES: Final = (".roomodes", ".robota/modes.yaml")
WORKSPACE_SERVERS: Final = frozenset({".mcp.json", ".robota/mcp.json"})
NEUTRAL_PLACE: Final = Path("/")
NO_MODEL: Final = Profile(type="scripted", name="none", model="none", options={"turns": []})


class OpenSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session and what must be closed with it."""

    session: Session
    log: SessionLog
    provider: Provider
    processes: Processes
    options: Options
    services: SessionServices
    sandbox: SessionSandbox | None = None
    servers: "McpServers | None" = None
    notices: tuple[str, ...] = ()

    async def close(self) -> None:
        await self.session.close()
        if self.servers is not None:
            await self.servers.close()
        await self.processes.end_background()
        self.processes.close()
        if self.sandbox is not None:
            self.sandbox.close()
        await self.provider.close()
        self.log.close()


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """What a session will be made of. All that can turn out wrong is settled here, before anything is made."""

    root: Path
    kept_in: Path
    settings: Settings
    profile: Profile
    options: Options  # but for the id of the session
    redactor: Redactor
    retry: RetryPolicy
    provider: Provider
    sandbox: SessionSandbox | None
    judge: Judge
    modes: Mapping[str, TaskMode]
    servers: "McpServers | None"
    notices: tuple[str, ...]


def open_session(launch: LaunchOptions, env: Mapping[str, str]) -> OpenSession:
    """Put a session together, or raise `ConfigError` or `LogError` before anything has happened."""
    choices = _choices(launch, env)
    new = begin_session(choices.kept_in, user_directory(env), _now_ms, launch.session_id, choices.redactor)
    with ExitStack() as undo:
        undo.callback(new.log.close)
        opened = _opened(choices, new, env)
        undo.pop_all()
    return opened


async def run_tool(launch: LaunchOptions, env: Mapping[str, str], tool: str, arguments: dict[str, Any]) -> Executed:
    """One call of one tool, judged, run and logged as in a session, but without a model."""
    alone = msgspec.structs.replace(launch, needs_model=False, attended=False, name=launch.name or f"tool run {tool}")
    opened = open_session(alone, env)
    try:
        return await call_once(opened.options, opened.services, tool, arguments)
    finally:
        await opened.close()


@asynccontextmanager
async def in_worktree(
    launch: LaunchOptions, name: str, env: Mapping[str, str], tell: Callable[[str], None]
) -> AsyncIterator[LaunchOptions]:
    """A worktree for one session, and the launch options for a session in it. At the end it is removed, or told of."""
    from robota.agents.worktrees.creation import WorktreeRequest
    from robota.agents.worktrees.session import enter_worktree, leave_worktree

    main = workspace_root(launch.cwd)
    settings = settings_for(launch, main, env)
    session_id = launch.session_id or new_session_id(_now_ms(), os.urandom(SESSION_ID_BYTES))
    hooks = _hooks_beside(settings, main, session_id)
    request = WorktreeRequest(
        cwd=main,
        name=name,
        env=env,
        snapshot=None if settings.trust is None else settings.trust.snapshot,
        is_trusted=settings.is_trusted,
        hooks=hooks,
        hook_creates=HookEvent.WORKTREE_CREATE in settings.values.hooks,
    )
    worktree = await enter_worktree(request)
    try:
        for notice in (
            f"This session works in the worktree {single_line(str(worktree.path), 4096)}",
            *worktree.notices,
        ):
            tell(notice)
        yield msgspec.structs.replace(launch, cwd=worktree.root, kept_in=main, session_id=session_id)
    finally:
        tell(await leave_worktree(worktree, hooks))
        if hooks is not None:
            await hooks.close()


def hooks_of(root: Path, env: Mapping[str, str]) -> LifecycleHooks | None:
    """The hooks that hold in a workspace, for what happens outside a session."""
    return _hooks_beside(load_settings(root, env), root, "")


def _hooks_beside(settings: Settings, root: Path, session_id: str) -> LifecycleHooks | None:
    """Hooks for what happens around a session, which knows nothing of it."""
    if not settings.values.hooks:
        return None
    from robota.hooks.definitions import parse_hooks
    from robota.hooks.runner import Hooks, HookSessionInfo

    log = session_directory(root, session_id) / LOG_NAME if session_id else ""
    return Hooks(
        parse_hooks(settings.values.hooks),
        HookSessionInfo(session_id=session_id, transcript_path=str(log), cwd=root),
        {**os.environ, **without_loader_settings(settings.values.env)},
    )


def _choices(launch: LaunchOptions, env: Mapping[str, str]) -> Choices:
    root = workspace_root(launch.cwd)
    settings = settings_for(launch, root, env)
    profile = _profile(launch, settings, env)
    sandbox = _sandbox(settings, root, env)
    judge, rule_notices = _judge(launch, settings, root, sandbox, env)
    modes, mode_notices = _modes(launch, settings, root, env)
    servers, server_notices = mcp_servers(settings, root, launch.kept_in or root, env)
    return Choices(
        root=root,
        kept_in=launch.kept_in or root,
        settings=settings,
        profile=profile,
        options=_options(launch, settings.values, profile, root),
        redactor=Redactor([profile.api_key or "", *secret_variables(env)]),
        retry=policy_from_options(profile.options.get("retry")),
        provider=open_provider(profile),
        sandbox=sandbox,
        judge=judge,
        modes=modes,
        servers=servers,
        notices=(*settings.notices, *rule_notices, *mode_notices, *server_notices),
    )


def _opened(choices: Choices, new: NewSession, env: Mapping[str, str]) -> OpenSession:
    sandbox, settings = choices.sandbox, choices.settings
    options = msgspec.structs.replace(choices.options, session_id=new.id)
    hooks, hook_notices = _hooks(settings, options, new.log, choices.judge)
    processes = Processes(wrap=sandbox.wrap if sandbox is not None else unwrapped, environment=settings.values.env)
    services = _services(choices, new.log, hooks, processes, env)
    session = Session(options, services)
    if sandbox is None:
        session.tell_sandbox("off", "the settings or the permission mode say so")
    else:
        sandbox.on_detected(session.tell_sandbox)
    return OpenSession(
        session=session,
        log=new.log,
        provider=choices.provider,
        processes=processes,
        options=options,
        services=services,
        sandbox=sandbox,
        servers=choices.servers,
        notices=(*choices.notices, *hook_notices, *new.notices),
    )


def _services(
    choices: Choices, log: SessionLog, hooks: "tuple[Hooks, ...]", processes: Processes, env: Mapping[str, str]
) -> SessionServices:
    kind, servers, modes, tools = definition(choices.profile.type), choices.servers, choices.modes, builtin_tools()
    return SessionServices(
        log=log,
        provider=choices.provider,
        model_info=kind.model_info(choices.profile),
        api_protocol=kind.api_protocol,
        retry=choices.retry,
        tools=tools,
        specs=_specs(tools),
        foreign=None if servers is None else lambda tell: _foreign_tools(servers, tell),
        judge=choices.judge,
        decline=unattended,
        allows=lambda tool, mode, touches: allows(tool, mode, touches, modes),
        goes_beyond=lambda mode, other: goes_beyond(mode, other, modes),
        modes={slug: role_of(mode) for slug, mode in modes.items()},
        remember=lambda scope, granted: keep_rules(scope, granted, choices.kept_in, env),
        files=Files(choices.root, is_forbidden=choices.judge.forbids_reading),
        processes=processes,
        random=_random,
        pre_hooks=hooks,
        post_hooks=hooks,
        lifecycle=hooks[0] if hooks else None,
        redactor=choices.redactor,
    )


def mcp_servers(
    settings: Settings, root: Path, project: Path, env: Mapping[str, str]
) -> "tuple[McpServers | None, tuple[str, ...]]":
    """The MCP servers of the settings and of a trusted workspace, not started yet; usually there are none.

    They work in `root`, but not in one that a person has not trusted: programs such as npx look for code around them.
    What a person approved of them holds for the `project`, which may have several such places.
    """
    sources = settings.trust.snapshot.sources if settings.trust is not None else ()
    if not settings.values.mcp_servers and not any(source.path in WORKSPACE_SERVERS for source in sources):
        return None, ()
    from robota.extensions.mcp.configured import configured
    from robota.extensions.mcp.pins import PinBook
    from robota.extensions.mcp.servers import McpServers

    found = configured(settings, env)
    place = root if settings.is_trusted else NEUTRAL_PLACE
    servers = McpServers(found.servers, place, PinBook(project, env), env) if found.servers else None
    return servers, found.notices


async def _foreign_tools(servers: "McpServers", tell: Callable[[Notice], None]) -> ForeignTools:
    gathered = await servers.gather(by_name(builtin_tools()), tell)
    return ForeignTools(tools=gathered.tools, specs=_specs(gathered.tools), notices=gathered.notices)


def _specs(tools: Sequence[AnyTool]) -> list[ToolSpec]:
    return [ToolSpec(name=tool.name, description=tool.description(), schema=schema_of(tool)) for tool in tools]


def _profile(launch: LaunchOptions, settings: Settings, env: Mapping[str, str]) -> Profile:
    if not launch.needs_model:
        return NO_MODEL
    return ready(launch.profile or select_profile(settings), env, settings.values.models)


def _options(launch: LaunchOptions, settings: SettingsFile, profile: Profile, root: Path) -> Options:
    appended = (launch.append_system_prompt, response_sentence(settings.language))
    return Options(
        session_id="",
        cwd=root,
        model=profile.model or "",
        fallback_models=settings.fallback_models,
        provider_name=profile.name or profile.type,
        name=launch.name,
        mode=launch.mode or DEFAULT_MODE,
        permission_mode=settings.permissions.default_mode or PermissionMode.DEFAULT,
        may_bypass=settings.permissions.disable_bypass_permissions_mode is None,
        completion=Completion(settings.completion or Completion.IMPLICIT),
        tool_format=_tool_format(profile),
        auto_compact_threshold=_threshold(settings.auto_compact_threshold),
        max_turns=launch.max_turns,
        max_cost=launch.max_cost,
        system_prompt=launch.system_prompt,
        append_system_prompt="\n\n".join(text for text in appended if text) or None,
        attended=launch.attended,
    )


def _threshold(setting: float | bool | None) -> float | None:
    if setting is False:
        return None
    return AUTO_COMPACT_THRESHOLD if setting is None or setting is True else setting


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


def _sandbox(settings: Settings, root: Path, env: Mapping[str, str]) -> SessionSandbox | None:
    """The sandbox for commands; none where a person switched it off or lets everything run anyway."""
    values = settings.values
    if not values.sandbox.enabled or values.permissions.default_mode is PermissionMode.BYPASS:
        return None
    home = home_directory(env)
    return SessionSandbox(
        root,
        home=home,
        secrets=(user_directory(env),),
        network=values.sandbox.network,
        allowed_hosts=values.sandbox.allowed_hosts,
    )


def _judge(
    launch: LaunchOptions, settings: Settings, root: Path, sandbox: SessionSandbox | None, env: Mapping[str, str]
) -> tuple[Judge, tuple[str, ...]]:
    names = {name: tool.name for name, tool in by_name(builtin_tools()).items()}
    rules, notices = rules_of_settings(settings.entries, names)
    judge = Judge(
        rules=rules_of_options(launch.allowed_tools, launch.disallowed_tools, names) + rules,
        places=Places(root=root, home=home_directory(env), real=os.path.realpath, matching=files_matching),
        names=names,
        trusted=settings.is_trusted,
        is_safe_repository=lambda: is_safe_repository(root),
        sandbox_works=None if sandbox is None else lambda: sandbox.works,
    )
    return judge, notices


def _modes(
    launch: LaunchOptions, settings: Settings, root: Path, env: Mapping[str, str]
) -> tuple[dict[str, TaskMode], tuple[str, ...]]:
    """The modes a task can run in: the built-in ones, a person's own, and after trust those of the workspace."""
    modes = known_modes()
    notices: tuple[str, ...] = ()
    files = [user_directory(env) / USER_MODES]
    if settings.trust is not None and settings.is_trusted:
        # Only plain files that were looked at when trust was asked for: never through a link.
        files += [root / path for path in WORKSPACE_MODES if settings.trust.snapshot.data_of(path) is not None]
    if present := [file for file in files if file.is_file()]:
        from robota.policy.modes.mode_file import read_modes

        modes, notices = read_modes(present)
    if launch.mode is not None and launch.mode not in modes:
        raise ConfigError(f"There is no mode {launch.mode!r}; modes are {', '.join(modes)}. Nothing was started.")
    return modes, notices


def _hooks(
    settings: Settings, options: Options, log: SessionLog, judge: Judge
) -> "tuple[tuple[Hooks, ...], tuple[str, ...]]":
    """The hooks of the settings, if there are any, and what of them cannot be used."""
    if not settings.values.hooks:
        return (), ()
    from robota.hooks.definitions import parse_hooks
    from robota.hooks.runner import Hooks, HookSessionInfo
    from robota.policy.rules.rule_match import problem_with_rule, speaks_of

    found = parse_hooks(settings.values.hooks, lambda rule: problem_with_rule(rule, judge))
    hooks = Hooks(
        found,
        HookSessionInfo(session_id=options.session_id, transcript_path=str(log.path), cwd=options.cwd),
        {**os.environ, **without_loader_settings(settings.values.env)},
        lambda rule, tool, call: speaks_of(rule, tool, call, judge),
        log.keep,
    )
    return (hooks,) if found.rules else (), tuple(problem.message for problem in found.problems)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _random() -> float:
    return int.from_bytes(os.urandom(4)) / 2**32
