"""Opens a session: resolves everything that can fail first, then creates the log and builds the services."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

import msgspec

from robota.app.agents import SessionAgents, SessionFacts
from robota.app.code import CodeOnDemand
from robota.app.extensions import find_resource_tool, remove_staging_of_killed, server_prompts
from robota.app.hooks import session_hooks, with_editor
from robota.app.intents import SessionIntents, session_intents
from robota.app.knowledge.instructions import session_instructions
from robota.app.knowledge.memory import MemoryDirectories, is_memory_there, session_memory
from robota.app.knowledge.skills import session_knowledge
from robota.app.policy import kept_files
from robota.app.rewinding.checkpoints import session_checkpoints, session_rewinder
from robota.app.sandbox import SessionConfinement, command_reach, host_logger, kept_out, withheld_variables
from robota.app.session_parts import SessionParts, resolve_parts, session_limits
from robota.app.tools import SessionTools, session_tools
from robota.config.launch_options import LaunchOptions
from robota.config.paths import user_directory
from robota.config.settings.load import Settings
from robota.contracts.hook import SessionHooks
from robota.contracts.workspace import KnownReach
from robota.engine.runtime.options import Options
from robota.engine.runtime.services import SessionServices
from robota.engine.session.session import Session
from robota.knowledge.instructions.on_demand import InstructionsOnDemand
from robota.log.chain.writer import Clock, SessionLog, wall_clock_ms
from robota.log.leftovers import remove_leftovers_of_killed
from robota.log.new_session import NewSession, begin_session
from robota.policy.decide import SessionPolicy
from robota.policy.protected.path_resolver import secret_pattern
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor
from robota.workspace.files.files import FilesOutside, LocalFiles
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.wrapped_command import unwrapped
from robota.workspace.sandbox.crash_cleanup import TEMPORARY, clean_up_after_crash
from robota.workspace.sandbox.session_sandbox import SessionSandbox

if TYPE_CHECKING:
    from robota.contracts.knowledge import CallTool, ExpandMentions, KnowledgeService, MemoryService, MentionedText
    from robota.contracts.workspace import Files
    from robota.engine.calls.call_checkpoints import CallCheckpoints
    from robota.extensions.mcp.servers import McpServers
    from robota.extensions.plugins.active import ActivePlugin
    from robota.log.reopening import ReopenedSession
    from robota.workspace.outside_code.outside_code import OutsideCode


# How long each step of closing may take. The session itself has its own limits.
STEP_SECONDS: Final = 10.0


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
    closing: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    at_close: ExitStack = msgspec.field(default_factory=ExitStack)  # undone before the log is released

    @property
    def is_closing(self) -> bool:
        """Whether the session is closed, or about to be."""
        return self.closing.locked() or self.log.is_closed

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
        """Stop everything, then release the log. Each step has a time limit. Closing twice does nothing."""
        async with self.closing:
            if not self.log.is_closed:
                await self._close()

    async def until_closed(self) -> None:
        """Return when the session is closed, if it is about to be."""
        async with self.closing:
            pass

    async def _close(self) -> None:
        self.at_close.close()
        await self.session.close()
        if self.servers is not None:
            await _within_limit(self.servers.close())
        await _within_limit(self.services.code.close())
        await _within_limit(self.processes.end_background())
        self.processes.close()
        if self.sandbox is not None:
            self.sandbox.close()
        self.files.close()
        await _within_limit(self.services.model.provider.close())
        if self.services.budgets is not None:
            self.services.budgets.close()
        self.log.close()


@asynccontextmanager
async def running(
    opened: OpenSession, env: Mapping[str, str], tell: Callable[[str], None], *, debug: bool = False
) -> AsyncIterator[None]:
    """Run the session: report its notices, offer to continue a resumed task, and close it at the end."""
    if not gc.get_freeze_count():  # what a process imports once; a later session would freeze garbage, too
        gc.freeze()
    gc.enable()
    for notice in opened.notices:
        tell(notice)
    async with AsyncExitStack() as stack:
        if debug:
            from robota.app.debug_log import debug_log

            await stack.enter_async_context(debug_log(opened.session, env, tell))
        stack.push_async_callback(opened.close)
        await opened.resume()
        yield


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


def _hidden_files(policy: SessionPolicy) -> tuple[str, ...] | None:
    # Imported with the first command.
    from robota.app.protection.hidden_files import hidden_files

    return hidden_files(policy)


def _added(policy: SessionPolicy) -> Callable[[], Collection[Path]]:
    """The directories outside the workspace that the user lets the session read."""
    return tuple if policy.added is None else policy.added.now


def _hidden_in(policy: SessionPolicy, directory: Path) -> tuple[str, ...] | None:
    """The files that are hidden from commands in a directory that the user added."""
    resolver = msgspec.structs.replace(policy.resolver, root=directory)
    return _hidden_files(msgspec.structs.replace(policy, resolver=resolver, files=kept_files(directory)))


ReplaceServices = Callable[[SessionServices], SessionServices]


def _unchanged(services: SessionServices) -> SessionServices:
    return services


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
        parts = resolve_parts(launch, env, redactor, undo)
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

    reopened = reopen_session(directory, user_directory(env), now_ms, redactor)
    with ExitStack() as undo:
        undo.callback(reopened.log.close)
        if not reopened.is_own:
            # From now on the log counts as one of this machine, so it says itself what in it is not.
            reopened.log.append(OriginRecord(source="elsewhere", session_id=reopened.id, at_ms=now_ms()))
        launch, notices = restored_options(launch, reopened, env)
        parts = resolve_parts(launch, env, redactor, undo)
        again = NewSession(id=reopened.id, log=reopened.log, notices=(*reopened.notices, *notices))
        opened = _build(parts, again, redactor, env, replace_services, undo)
        undo.pop_all()
    return msgspec.structs.replace(opened, resumed=reopened)


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
            resource_tool=partial(find_resource_tool, parts.programs.servers),
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
    sandbox.on_reached(host_logger(log))
    sandbox.on_left_over(session.warn)
    sandbox.hide_from_commands(lambda: _hidden_files(parts.policy))
    sandbox.show_added(_added(parts.policy), partial(_hidden_in, parts.policy))


def _clear_up(parts: SessionParts, env: Mapping[str, str]) -> list[str]:
    """Remove what killed processes left. Returns messages for the user."""
    remove_leftovers_of_killed(parts.root, parts.kept_in, env)
    remove_staging_of_killed(env)
    return clean_up_after_crash(parts.root, parts.kept_in, user_directory(env))


class _NewParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that a session is built from once its log exists."""

    parts: SessionParts
    log: NewSession
    options: Options
    redactor: Redactor
    env: Mapping[str, str]
    files: LocalFiles
    processes: LocalProcesses


def _build(
    parts: SessionParts,
    new: NewSession,
    redactor: Redactor,
    env: Mapping[str, str],
    replace_services: ReplaceServices,
    undo: ExitStack,
) -> OpenSession:
    left_by_killed = _clear_up(parts, env)
    if parts.settings.values.kept_output_bytes is not None:
        new.log.limit_outputs(parts.settings.values.kept_output_bytes)
    begun = _NewParts(
        parts=parts,
        log=new,
        options=msgspec.structs.replace(parts.options, session_id=new.id),
        redactor=redactor,
        env=env,
        files=_files(parts, user_directory(env), undo),
        processes=_processes(parts, env),
    )
    hooks, hook_notices = _hooks(begun)
    services = msgspec.structs.replace(_services(begun, hooks), agents=_agents(begun), redactor=redactor)
    opened = _opened(begun, replace_services(services))
    notices = (*parts.notices, *hook_notices, *_begin_programs(parts), *new.notices, *left_by_killed)
    return msgspec.structs.replace(opened, notices=notices)


def _hooks(begun: _NewParts) -> tuple[SessionHooks, tuple[str, ...]]:
    parts = begun.parts
    log, code = begun.log.log, parts.programs.code
    return session_hooks(parts.settings, parts.plugins, code, begun.options, log, parts.policy, begun.env)


def _services(begun: _NewParts, hooks: SessionHooks) -> SessionServices:
    parts, log, env, values = begun.parts, begun.log.log, begun.env, begun.parts.settings.values
    checkpoints = session_checkpoints(values.checkpoints, parts.root, env, log)
    intents, knowledge, memory = _intents(begun, checkpoints), _knowledge(begun), _memory(begun)
    return SessionServices(
        log=log,
        model=parts.model,
        tools=_tools(begun, intents, knowledge, has_memory=memory is not None),
        policy=parts.policy,
        modes=parts.modes,
        hooks=with_editor(intents.around(hooks), begun.options.launch.additions.editor, begun.files),
        checkpoint=checkpoints,
        confinement=SessionConfinement(parts.settings, parts.root, env, parts.sandbox),
        mentions=_mentions(parts, begun.log, begun.processes, env),
        rewind=session_rewinder(values.checkpoints, begun.files.held_root, env, log),
        files=begun.files,
        processes=begun.processes,
        code=CodeOnDemand(parts.settings, begun.files, begun.processes, env),
        reach=KnownReach(command_reach(None if parts.sandbox else "off", parts.settings)),
        knowledge=knowledge,
        prompts=server_prompts(parts.programs.servers),
        instructions=session_instructions(parts.settings, parts.root, env, parts.policy),
        memory=memory,
        budgets=session_limits(parts, begun.options.launch, env, intents.selection),
    )


def _intents(begun: _NewParts, checkpoints: "CallCheckpoints | None") -> SessionIntents:
    parts, options, log = begun.parts, begun.options, begun.log.log
    return session_intents(parts.settings, parts.root, options, log, parts.policy, checkpoints, begun.env)


def _agents(begun: _NewParts) -> SessionAgents:
    parts = begun.parts
    session = SessionFacts(
        id=begun.log.id,
        log=begun.log.log,
        root=parts.root,
        kept_in=parts.kept_in,
        model=begun.options.model,
        additions=begun.options.launch.additions,
    )
    return SessionAgents(parts.settings, parts.plugins, begun.env, session)


def _knowledge(begun: _NewParts) -> "KnowledgeService | None":
    parts, options = begun.parts, begun.options
    variables = {"CLAUDE_SESSION_ID": options.session_id, "CLAUDE_MODEL": options.model}
    attended = options.launch.attended
    return session_knowledge(
        parts.settings,
        parts.plugins,
        parts.root,
        begun.env,
        variables,
        on_typed=(lambda file: None) if parts.bundles is None else parts.bundles.start,
        attended=attended,
    )


def _memory(begun: _NewParts) -> "MemoryService | None":
    project, options = MemoryDirectories(root=begun.parts.root, kept_in=begun.parts.kept_in), begun.options
    return session_memory(begun.parts.settings, project, begun.env, begun.redactor, options.session_id, options.launch)


def _tools(
    begun: _NewParts, intents: SessionIntents, knowledge: "KnowledgeService | None", *, has_memory: bool
) -> SessionTools:
    """The tools. Without a memory of the project or the user, the model is not offered to add to it."""
    project = MemoryDirectories(root=begun.parts.root, kept_in=begun.parts.kept_in)
    tools = session_tools(
        begun.parts.programs.servers,
        (*intents.tools, *begun.options.launch.additions.tools),
        intents.declaring,
        has_skills=knowledge is not None and knowledge.is_in_prompt,
        has_memory=has_memory and is_memory_there(project, begun.env),
        # Nobody can allow a command to leave it where nobody attends.
        has_sandbox=bool(begun.parts.sandbox) and begun.options.launch.attended,
        only=begun.options.launch.only_tools,
    )
    tools.is_forbidden = begun.parts.policy.forbids
    return tools


def _opened(begun: _NewParts, services: SessionServices) -> OpenSession:
    parts = begun.parts
    session = Session(begun.options, services)
    _report_sandbox(session, parts, services.reach, begun.log.log)
    if isinstance(services.instructions, InstructionsOnDemand):
        services.instructions.on_undecided(session.warn)
    return OpenSession(
        session=session,
        log=begun.log.log,
        options=begun.options,
        services=services,
        settings=parts.settings,
        policy=parts.policy,
        kept_in=parts.kept_in,
        files=begun.files,
        processes=begun.processes,
        sandbox=parts.sandbox,
        servers=parts.programs.servers,
        code=parts.programs.code,
        plugins=parts.plugins,
    )


def _begin_programs(parts: SessionParts) -> tuple[str, ...]:
    """Compare the files that programs outside the sandbox run, before the agent can change anything."""
    return () if parts.programs.code is None else parts.programs.code.begin()


def _tell_about_sandbox(session: Session, settings: Settings, reach: KnownReach, kind: str, reason: str) -> None:
    reach.now = command_reach(kind, settings)
    session.report_sandbox(kind, reason, kept_out(kind, settings))
    if kind == "bubblewrap" and reason:  # clients show the reason only where there is no sandbox
        session.warn(f"Sandbox: {reason}.")


def _processes(parts: SessionParts, env: Mapping[str, str]) -> LocalProcesses:
    settings, sandbox = parts.settings, parts.sandbox
    return LocalProcesses(
        wrap=sandbox.wrap if sandbox is not None else unwrapped,
        environment=settings.values.env,
        inherited=env,
        withheld=withheld_variables(settings),
        ports=lambda: None if sandbox is None else sandbox.ports,
        outputs_in=user_directory(env) / TEMPORARY,
    )


def _place_outside(parts: SessionParts, real: str) -> Path:
    """The directory whose files a real path outside is among: policy decides whether it may be read."""
    bundle = None if parts.bundles is None else parts.bundles.outside(real)
    if bundle is not None:
        return bundle
    added = next((each for each in _added(parts.policy)() if Path(real).is_relative_to(each)), None)
    return added or next(each for each in (Path(real), *Path(real).parents) if each.is_dir())


def _files(parts: SessionParts, user: Path, undo: ExitStack) -> LocalFiles:
    files = LocalFiles(
        parts.root,
        journals_in=user,
        drafts_in=parts.kept_in,
        is_forbidden=parts.policy.forbids_reading,
        is_secret=lambda relative: parts.policy.files.secret_pattern(relative) is not None,
        outside=FilesOutside(
            find=partial(_place_outside, parts),
            is_secret=lambda relative: secret_pattern(relative) is not None,
            added=_added(parts.policy),
        ),
    )
    undo.callback(files.close)
    return files
