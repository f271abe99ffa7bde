"""Opens a session: resolves everything that can fail first, then creates the log and builds the services."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

import msgspec

from robota.app.extensions import (
    configured_servers,
    find_resource_tool,
    outside_code,
    remove_staging_of_killed,
    server_prompts,
    session_plugins,
)
from robota.app.hooks import session_hooks
from robota.app.intents import session_intents
from robota.app.knowledge.instructions import session_instructions
from robota.app.knowledge.memory import MemoryPlace, has_memory, session_memory
from robota.app.knowledge.skills import session_knowledge
from robota.app.options import session_options
from robota.app.policy import session_policy, task_modes
from robota.app.provider import model_access, require_known_prices, resolve_profile
from robota.app.rewinding.checkpoints import session_checkpoints, session_rewinder
from robota.app.sandbox import command_reach, holds_robota, kept_out, session_sandbox, withheld_variables
from robota.app.tools import session_tools
from robota.config.launch_options import LaunchOptions, settings_for, workspace_root
from robota.config.paths import user_directory
from robota.config.profiles.profile import Profile
from robota.config.settings.load import Settings
from robota.contracts.workspace import KnownReach
from robota.engine.runtime.options import Options
from robota.engine.runtime.services import ModelAccess, SessionServices
from robota.engine.session.session import Session
from robota.log.chain.writer import Clock, SessionLog, wall_clock_ms
from robota.log.errors import LogError
from robota.log.leftovers import remove_leftovers_of_killed
from robota.log.new_session import NewSession, begin_session
from robota.policy.decide import SessionPolicy
from robota.policy.modes.task_modes import TaskModes
from robota.protocol.events import UsedPlugin
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor
from robota.workspace.files.files import LocalFiles
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.wrapped_command import unwrapped
from robota.workspace.sandbox.leftovers import TEMPORARY, clear_up_after_killed
from robota.workspace.sandbox.session_sandbox import SessionSandbox

if TYPE_CHECKING:
    from robota.contracts.knowledge import CallTool, ExpandMentions, KnowledgeService, MentionedText
    from robota.contracts.workspace import Files
    from robota.engine.runtime.options import StyleOptions
    from robota.extensions.mcp.servers import McpServers
    from robota.extensions.plugins.active import ActivePlugin
    from robota.log.reopening import ReopenedSession
    from robota.workspace.outside_code.outside_code import OutsideCode


# How long each step of closing may take. The session itself has its own limits.
STEP_SECONDS: Final = 10.0
MAX_HOSTS_LOGGED: Final = 1_000


class OpenSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session and everything that must be closed with it."""

    session: Session
    log: SessionLog
    options: Options
    services: SessionServices
    settings: Settings
    policy: SessionPolicy
    kept_in: Path  # the project whose directory holds the session; a worktree session works elsewhere
    files: LocalFiles
    processes: LocalProcesses
    sandbox: SessionSandbox | None = None
    servers: "McpServers | None" = None
    code: "OutsideCode | None" = None
    plugins: "tuple[ActivePlugin, ...]" = ()
    notices: tuple[str, ...] = ()
    resumed: "ReopenedSession | None" = None
    is_past_shown: bool = False

    def with_past_shown(self) -> "OpenSession":
        """The same session, whose past conversation is on screen already."""
        return msgspec.structs.replace(self, is_past_shown=True)

    async def resume(self) -> None:
        """Restore a resumed session and ask whether to continue its task; a new one needs nothing."""
        if self.resumed is not None:
            await self.session.resume(self.resumed.session, self.resumed.left_ms)
            if self.resumed.damage_in_old_part is not None:
                _check_in_background(self.resumed.damage_in_old_part, self.session.warn)

    async def close(self) -> None:
        """Stop everything, then release the log. Each step has a time limit."""
        await self.session.close()
        if self.servers is not None:
            await _within_limit(self.servers.close())
        await _within_limit(self.processes.end_background())
        self.processes.close()
        if self.sandbox is not None:
            self.sandbox.close()
        self.files.close()
        await _within_limit(self.services.model.provider.close())
        self.log.close()


def _check_in_background(look: Callable[[], tuple[str, ...]], warn: Callable[[str], None]) -> None:
    """Check the log for damage in a daemon thread, which does not delay the exit."""
    loop = asyncio.get_running_loop()

    def show(warnings: tuple[str, ...]) -> None:
        for warning in warnings:
            warn(warning)

    def run() -> None:
        warnings = look()
        with suppress(RuntimeError):  # the session is over
            loop.call_soon_threadsafe(show, warnings)

    Thread(target=run, name="log-check", daemon=True).start()


async def _within_limit(step: Awaitable[None]) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(STEP_SECONDS):
            await step


def _host_logger(log: SessionLog) -> Callable[[str], None]:
    """A function that logs each host that commands reach, once."""
    known: set[str] = set()

    def note(place: str) -> None:
        from robota.log.kinds.calls import ReachedRecord

        if place not in known and len(known) < MAX_HOSTS_LOGGED:
            known.add(place)
            with suppress(LogError):
                log.append(ReachedRecord(place=place))

    return note


def _hidden_files(policy: SessionPolicy) -> tuple[str, ...] | None:
    # Imported with the first command.
    from robota.app.protection.hidden_files import hidden_files

    return hidden_files(policy)


ReplaceServices = Callable[[SessionServices], SessionServices]


def _unchanged(services: SessionServices) -> SessionServices:
    return services


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


def open_session(
    launch: LaunchOptions,
    env: Mapping[str, str],
    *,
    now_ms: Clock = wall_clock_ms,
    replace_services: ReplaceServices = _unchanged,
) -> OpenSession:
    """Build a session; raises `ConfigError` or `LogError` before anything has happened.

    `replace_services` may replace services, as a replay does with the clock and the model.
    """
    redactor = Redactor(secret_variables(env))
    if launch.resumes is not None:
        return _reopen(launch, launch.resumes, redactor, env, now_ms, replace_services)
    with ExitStack() as undo:
        parts = _resolve(launch, env, redactor, undo)
        new = begin_session(parts.kept_in, user_directory(env), now_ms, launch.session_id, redactor)
        undo.callback(new.log.close)
        opened = _build(parts, new, redactor, env, replace_services, undo)
        undo.pop_all()
    return opened


def _reopen(
    launch: LaunchOptions,
    directory: Path,
    redactor: Redactor,
    env: Mapping[str, str],
    now_ms: Clock,
    replace_services: ReplaceServices,
) -> OpenSession:
    """Reopen a session with its original options, except those given on the command line."""
    from robota.app.resumed_options import restored_options
    from robota.log.kinds.session import OriginRecord
    from robota.log.reopening import reopen_session

    found = reopen_session(directory, user_directory(env), now_ms, redactor)
    with ExitStack() as undo:
        undo.callback(found.log.close)
        if not found.is_own:
            # From now on the log counts as one of this machine, so it says itself what in it is not.
            found.log.append(OriginRecord(source="elsewhere", session_id=found.id, at_ms=now_ms()))
        launch, notices = restored_options(launch, found, env)
        parts = _resolve(launch, env, redactor, undo)
        again = NewSession(id=found.id, log=found.log, notices=(*found.notices, *notices))
        opened = _build(parts, again, redactor, env, replace_services, undo)
        undo.pop_all()
    return msgspec.structs.replace(opened, resumed=found)


def _resolve(launch: LaunchOptions, env: Mapping[str, str], redactor: Redactor, undo: ExitStack) -> SessionParts:
    """Find everything out. `undo` releases what is held, if opening the session fails."""
    root = workspace_root(launch.cwd)
    project = launch.kept_in or root
    settings = settings_for(launch, root, env)

    def profile_in(settings: Settings) -> Profile:
        profile = resolve_profile(launch, settings, env)
        require_known_prices(launch, settings, profile)
        redactor.add(profile.api_key or "")
        return profile

    profile = profile_in(settings)
    can_change = launch.attended and launch.profile is None
    sandbox = session_sandbox(settings, root, env)
    if sandbox is not None:
        undo.callback(sandbox.close)
    policy, rule_notices = session_policy(launch, settings, root, sandbox, env)
    modes, mode_notices = task_modes(launch, settings, root, env)
    plugins, plugin_notices = session_plugins(settings, project, env)
    style, style_notices = _style(settings, plugins, root, env)
    launch = _with_preset(launch, settings, root, env)
    code = outside_code(settings, plugins, root, env, attended=launch.attended)
    servers, server_notices = configured_servers(settings, plugins, code, root, project, env)
    if code is not None or holds_robota(root):
        from robota.app.protection.outside_code import guarded

        policy = guarded(policy, sandbox, code, root)
    return SessionParts(
        root=root,
        kept_in=project,
        settings=settings,
        profile=profile,
        options=msgspec.structs.replace(
            session_options(launch, settings.values, profile, root),
            style=style,
            plugins=tuple(UsedPlugin(name=plugin.name, path=str(plugin.root)) for plugin in plugins),
        ),
        model=model_access(profile, (lambda: profile_in(settings_for(launch, root, env))) if can_change else None),
        sandbox=sandbox,
        policy=policy,
        modes=modes,
        plugins=plugins,
        servers=servers,
        code=code,
        notices=(*settings.notices, *rule_notices, *mode_notices, *plugin_notices, *style_notices, *server_notices),
    )


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


def _mentions(
    parts: SessionParts, new: NewSession, processes: LocalProcesses, env: Mapping[str, str]
) -> "ExpandMentions":
    """Expands mentions; imported with the first prompt that has one."""

    async def expand(prompt: str, files: "Files", call: "CallTool") -> "MentionedText":
        from robota.app.knowledge.mentions import expand_mentions
        from robota.knowledge.mentions.sources import MentionSession

        session = MentionSession(
            session_id=new.id,
            log=new.log.path,
            root=parts.root,
            kept_in=parts.kept_in,
            processes=processes,
            checks=parts.settings.values.checks,
            context_window=parts.model.info.context_window,
            env=env,
            resource_tool=partial(find_resource_tool, parts.servers),
        )
        return await expand_mentions(session, prompt, files, call)

    return expand


def _report_sandbox(session: Session, parts: SessionParts, reach: KnownReach, log: SessionLog) -> None:
    """Let the clients know what the sandbox finds out."""
    settings, sandbox = parts.settings, parts.sandbox
    if sandbox is None:
        session.report_sandbox("off", "the settings or the permission mode say so")
        return
    sandbox.on_detected(partial(_tell_about_sandbox, session, settings, reach))
    sandbox.on_reached(_host_logger(log))
    sandbox.on_left_over(session.warn)
    sandbox.hide_from_commands(lambda: _hidden_files(parts.policy))


def _clear_up(parts: SessionParts, env: Mapping[str, str]) -> list[str]:
    """Remove what killed processes left. Returns messages for the user."""
    remove_leftovers_of_killed(parts.root, parts.kept_in, env)
    remove_staging_of_killed(env)
    return clear_up_after_killed(parts.root, parts.kept_in, user_directory(env))


def _build(
    parts: SessionParts,
    new: NewSession,
    redactor: Redactor,
    env: Mapping[str, str],
    replace_services: ReplaceServices,
    undo: ExitStack,
) -> OpenSession:
    settings, left_by_killed = parts.settings, _clear_up(parts, env)
    options = msgspec.structs.replace(parts.options, session_id=new.id)
    if settings.values.kept_output_bytes is not None:
        new.log.limit_outputs(settings.values.kept_output_bytes)
    hooks, hook_notices = session_hooks(settings, parts.plugins, parts.code, options, new.log, parts.policy)
    processes, files = _processes(parts, user_directory(env)), _files(parts, user_directory(env), undo)
    checkpoints = session_checkpoints(settings.values.checkpoints, parts.root, env, new.log)
    intents = session_intents(settings, parts.root, options, new.log, parts.policy, checkpoints, env)
    knowledge = _knowledge(parts, new.id, env)
    place = MemoryPlace(root=parts.root, kept_in=parts.kept_in)
    memory = session_memory(settings, place, env, redactor, new.id, attended=options.launch.attended)
    may_propose = memory is not None and has_memory(place, env)
    tools = partial(session_tools, parts.servers, intents.tools, intents.declaring, has_sandbox=bool(parts.sandbox))
    instructions = session_instructions(settings, parts.root, env, parts.policy)
    services = SessionServices(
        log=new.log,
        model=parts.model,
        tools=tools(has_skills=knowledge is not None and knowledge.is_in_prompt, has_memory=may_propose),
        policy=parts.policy,
        modes=parts.modes,
        hooks=intents.around(hooks),
        checkpoint=checkpoints,
        mentions=_mentions(parts, new, processes, env),
        rewind=session_rewinder(settings.values.checkpoints, files.held_root, env, new.log),
        files=files,
        processes=processes,
        reach=KnownReach(command_reach(None if parts.sandbox else "off", settings)),
        knowledge=knowledge,
        prompts=server_prompts(parts.servers),
        instructions=instructions,
        memory=memory,
        redactor=redactor,
    )
    session = Session(options, services := replace_services(services))
    instructions.on_undecided(session.warn)
    _report_sandbox(session, parts, services.reach, new.log)
    return OpenSession(
        session=session,
        log=new.log,
        options=options,
        services=services,
        settings=settings,
        policy=parts.policy,
        kept_in=parts.kept_in,
        files=files,
        processes=processes,
        sandbox=parts.sandbox,
        servers=parts.servers,
        code=parts.code,
        plugins=parts.plugins,
        notices=(*parts.notices, *hook_notices, *_begin_programs(parts), *new.notices, *left_by_killed),
    )


def _knowledge(parts: SessionParts, session_id: str, env: Mapping[str, str]) -> "KnowledgeService | None":
    variables = {"CLAUDE_SESSION_ID": session_id, "CLAUDE_MODEL": parts.options.model}
    is_attended = parts.options.launch.attended
    return session_knowledge(parts.settings, parts.plugins, parts.root, env, variables, attended=is_attended)


def _begin_programs(parts: SessionParts) -> tuple[str, ...]:
    """Compare the files that programs outside the sandbox run, before the agent can change anything."""
    return () if parts.code is None else parts.code.begin()


def _tell_about_sandbox(session: Session, settings: Settings, reach: KnownReach, kind: str, reason: str) -> None:
    reach.now = command_reach(kind, settings)
    session.report_sandbox(kind, reason, kept_out(kind, settings))
    if kind == "bubblewrap" and reason:  # clients show the reason only where there is no sandbox
        session.warn(f"Sandbox: {reason}.")


def _processes(parts: SessionParts, user: Path) -> LocalProcesses:
    settings, sandbox = parts.settings, parts.sandbox
    return LocalProcesses(
        wrap=sandbox.wrap if sandbox is not None else unwrapped,
        environment=settings.values.env,
        withheld=withheld_variables(settings),
        ports=lambda: None if sandbox is None else sandbox.ports,
        outputs_in=user / TEMPORARY,
    )


def _files(parts: SessionParts, user: Path, undo: ExitStack) -> LocalFiles:
    files = LocalFiles(
        parts.root,
        journals_in=user,
        drafts_in=parts.kept_in,
        is_forbidden=parts.policy.forbids_reading,
        is_secret=lambda relative: parts.policy.files.secret_pattern(relative) is not None,
    )
    undo.callback(files.close)
    return files
