"""Builds the intent layer of a session, if the workspace has intents or the settings require one."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from robota.app.rewinding.checkpoints import checkpoint_store, has_checkpoints
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.config.settings.load import Settings
from robota.contracts.hook import HookContext, HookEvent, HookResult, LifecycleHooks, SessionHooks
from robota.contracts.tool import AnyTool, ToolCall, ToolResult, Touches
from robota.contracts.verdict import Subject, Verdict
from robota.engine.calls.call_checkpoints import CallCheckpoints
from robota.engine.runtime.options import Options
from robota.log.chain.writer import SessionLog
from robota.policy.decide import SessionPolicy
from robota.protocol.permission_mode import PermissionMode

if TYPE_CHECKING:
    from robota.contracts.hook import BlockCall, Proceed
    from robota.intents.intent import Intent
    from robota.intents.intent_files import IntentFiles
    from robota.intents.leases import LeaseBook
    from robota.intents.recovery.late_trace import LateTrace
    from robota.intents.recovery.session_tracing import SessionTracing
    from robota.intents.recovery.tracing_sessions import TracingSession
    from robota.intents.scope_enforcement import WrittenBy
    from robota.intents.selection import IntentSelection, SelectionMemory
    from robota.intents.trace_writer import ChangedFile, Watching


class SessionIntents(msgspec.Struct, frozen=True, kw_only=True):
    """The tool and the hooks that intents add to a session; empty without intents."""

    tools: tuple[AnyTool, ...] = ()
    hooks: SessionHooks = SessionHooks()
    selection: "IntentSelection | None" = None
    leases: "LeaseBook | None" = None
    tracing: "SessionTracing | None" = None

    def around(self, hooks: SessionHooks) -> SessionHooks:
        """All hooks of the session. Before a call, those of intents run last, so that they see the final input."""
        lifecycle = hooks.lifecycle
        return msgspec.structs.replace(
            hooks,
            before=(*hooks.before, *self.hooks.before),
            guards=self.hooks.guards,
            after=(*self.hooks.after, *hooks.after),
            lifecycle=lifecycle if self.leases is None else _ClosingHooks(self.leases, self.tracing, lifecycle),
            context=self.hooks.context,
        )

    def declaring(self, tools: Sequence[AnyTool]) -> Sequence[AnyTool]:
        """The tools of a session, with a parameter for the kind of change added to those that edit files."""
        if self.selection is None:
            return tools
        from robota.intents.declaring_tools import declaring
        from robota.tools.registry import schema_of

        return tuple(declaring(tool, schema_of(tool), self.selection) for tool in tools)


class _ClosingHooks:
    """Lifecycle hooks that pass every event on to other hooks.

    When the agent is idle they release the leases, and at the end of the session they complete the trace.
    """

    def __init__(self, leases: "LeaseBook", tracing: "SessionTracing | None", others: LifecycleHooks | None) -> None:
        self._leases = leases
        self._tracing = tracing
        self._others = others

    async def fire(
        self, event: HookEvent, target: str = "", *, context: HookContext | None = None, **fields: Any
    ) -> HookResult:
        is_idle = event is HookEvent.NOTIFICATION and target == "idle_prompt"
        if event in (HookEvent.STOP, HookEvent.SESSION_END) or is_idle:
            self._leases.release()
        if self._others is None:
            return HookResult()
        return await self._others.fire(event, target, context=context, **fields)

    async def permission(self, tool: AnyTool, call: ToolCall, verdict: Verdict, context: HookContext) -> HookResult:
        if self._others is None:
            return HookResult()
        return await self._others.permission(tool, call, verdict, context)

    async def close(self) -> None:
        self._leases.release()
        if self._tracing is not None:
            await asyncio.to_thread(self._tracing.close)
        if self._others is not None:
            await self._others.close()


def session_intents(
    settings: Settings,
    root: Path,
    options: Options,
    log: SessionLog,
    policy: SessionPolicy,
    checkpoints: CallCheckpoints | None,
    env: Mapping[str, str],
) -> SessionIntents:
    """The intent layer; empty unless the workspace has a file of intents or the settings require one."""
    required = settings.values.require_intent
    # Checked first, at every start: most workspaces have no intents, and then nothing is loaded.
    place = place_of_intents(root)
    if place is None and not required:
        return SessionIntents()
    place = place or IntentPlace(home=root, top=root)
    from robota.intents.context_injector import ContextInjectorHook
    from robota.intents.intent_files import IntentFiles
    from robota.intents.scope_enforcement import ScopeEnforcementHook
    from robota.intents.select_active_intent import IntentDesk, Overlap, select_tool
    from robota.intents.selection import IntentSelection
    from robota.intents.trace_file import TraceFile, history_of
    from robota.intents.trace_writer import TracedSession, TraceWriterHook
    from robota.workspace.git.head_revision import head_revision

    user = user_directory(env)
    files = IntentFiles(root, place.home, place.top)
    selection = IntentSelection(files, _memory(log))
    leases = session_leases(place.top, options.session_id, user)
    reverts = not options.launch.attended and checkpoints is not None
    sandbox_works = policy.sandbox_works
    guard = ScopeEnforcementHook(
        selection,
        _written_by(policy),
        leases,
        is_contained=lambda: reverts and sandbox_works is not None and sandbox_works(),
    )
    trace = TraceFile(files.home, timestamp, user)
    session = TracedSession(
        id=options.session_id,
        log_url=log.path.as_uri(),
        model=options.model,
        revision=lambda: head_revision(Path(os.path.realpath(place.top))),
    )
    tracing = _session_tracing(settings, files, log, env)
    watching = _watching(settings, files, checkpoints, tracing, env, reverts=reverts)
    writer = TraceWriterHook(selection, guard, trace, session, watching)
    context = ContextInjectorHook(selection, lambda id: history_of(trace, id))
    desk = IntentDesk(
        selection=selection, context=context, leases=leases, overlap=Overlap(settings.values.intent_overlap)
    )
    return SessionIntents(
        tools=(select_tool(desk),),
        hooks=SessionHooks(before=(guard, writer), guards=(guard,), after=(writer, context), context=context),
        selection=selection,
        leases=leases,
        tracing=tracing,
    )


def _session_tracing(
    settings: Settings, files: "IntentFiles", log: SessionLog, env: Mapping[str, str]
) -> "SessionTracing":
    """The tracing of a session, after that of killed ones, so that its changes are not taken for theirs."""
    from robota.intents.recovery.session_tracing import SessionTracing
    from robota.intents.recovery.tracing_sessions import TracingSessions

    trace_killed_sessions(IntentPlace(home=files.home, top=files.top), env)
    sessions = TracingSessions(files.home, user_directory(env))
    return SessionTracing(log, files.root, sessions, partial(_late_trace, settings, files, log, env))


def trace_killed_sessions(place: "IntentPlace | None", env: Mapping[str, str]) -> None:
    """Trace what killed sessions changed. Those that run do it themselves. What fails is tried again next time."""
    if place is None:
        return
    from robota.intents.recovery.tracing_sessions import TracingSessions

    with suppress(OSError, ConfigError):
        TracingSessions(place.home, user_directory(env)).settle(partial(_is_settled, env=env))


def _is_settled(session: "TracingSession", env: Mapping[str, str]) -> bool:
    """Trace what a session changed, unless it runs. Returns whether nothing of it is missing now, or never can be."""
    from robota.config.settings.load import load_settings
    from robota.intents.intent_files import IntentFiles
    from robota.log.chain.reader import LOG_NAME
    from robota.log.errors import LogError
    from robota.log.reopening import open_to_add
    from robota.workspace.process.lock_holder import holder_of

    root, directory = Path(session.root), Path(session.directory)
    place = place_of_intents(root)
    if place is None or not (directory / LOG_NAME).exists():
        return True
    holder = holder_of(directory / LOG_NAME)
    if holder is not None and holder.command:  # a child of a killed process, which has none, is waited for below
        return False
    try:
        log = open_to_add(directory, user_directory(env))
    except LogError:  # it was resumed just now, or it cannot be read
        return False
    try:
        files = IntentFiles(root, place.home, place.top)
        return _late_trace(load_settings(root, env), files, log, env).catch_up()
    except ConfigError:
        return False
    finally:
        log.close()


def _late_trace(settings: Settings, files: "IntentFiles", log: SessionLog, env: Mapping[str, str]) -> "LateTrace":
    from robota.intents.recovery.late_trace import LateTrace
    from robota.intents.trace_file import TraceFile
    from robota.workspace.text.syntax import shape_of

    has_store = has_checkpoints(settings.values.checkpoints, files.root, env)
    store = checkpoint_store(settings.values.checkpoints, files.root, env) if has_store else None
    return LateTrace(files, log, TraceFile(files.home, timestamp, user_directory(env)), store, shape_of)


def timestamp() -> str:
    """The current time in the format of records."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class IntentPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where the intents of a workspace are.

    `home` has `.orchestration/`; `top` is the directory that patterns and records start from. They differ only in a
    worktree that uses the intents of the main checkout. The workspace is `top` or a directory below it.
    """

    home: Path
    top: Path


def place_of_intents(root: Path) -> IntentPlace | None:
    """The nearest intents: of the workspace, of a directory above it in its repository, or of the main checkout.

    Intents that are not committed are not in the worktrees. Neither that nor starting in a subdirectory may turn the
    guard off.
    """
    in_repository: list[Path] = []
    for top in (root, *root.parents):
        in_repository.append(top)
        if os.path.lexists(top / ".git"):
            break
    else:
        in_repository = [root]
    for top in in_repository:
        if _has_intents(top):
            return IntentPlace(home=top, top=top)
    top = in_repository[-1]
    main = _main_checkout(top)
    return IntentPlace(home=main, top=top) if main is not None and _has_intents(main) else None


def _has_intents(root: Path) -> bool:
    """Whether a directory has a file of intents."""
    return os.path.lexists(root / ".orchestration" / "active_intents.yaml")


def _main_checkout(top: Path) -> Path | None:
    """The main checkout of a worktree."""
    if not (top / ".git").is_file():
        return None
    from robota.workspace.git.git_directories import find_git_directories

    found = find_git_directories(Path(os.path.realpath(top)))
    return None if found is None or found.common.name != ".git" else found.common.parent


def _memory(log: SessionLog) -> "SelectionMemory":
    from robota.intents.selection import SelectionMemory
    from robota.intents.selection_record import IntentRecord, last_selection
    from robota.log.errors import LogError

    def note(task_id: str, intent_id: str | None) -> None:
        with suppress(LogError):
            log.append(IntentRecord(task_id=task_id, intent_id=intent_id))

    return SelectionMemory(recall=lambda task_id: last_selection(log.path, task_id), note=note)


def session_leases(root: Path, session_id: str, user: Path) -> "LeaseBook":
    """The leases of a session. All worktrees of a repository share one directory."""
    from robota.intents.leases import LeaseBook
    from robota.workspace.git.git_directories import find_git_directories

    real = Path(os.path.realpath(root))
    found = find_git_directories(real)
    key = sha256(os.fsencode(real if found is None else found.common)).hexdigest()[:32]
    return LeaseBook(user / "leases" / key, session_id, real, timestamp)


async def judge_scope(policy: SessionPolicy, intent_id: str, tool: AnyTool, call: ToolCall) -> "Proceed | BlockCall":
    """Whether a call is in the scope of an intent, without a session. Raises `IntentRefused`."""
    from tempfile import TemporaryDirectory

    from robota.intents.intent_files import IntentFiles
    from robota.intents.leases import LeaseBook
    from robota.intents.scope_enforcement import ScopeEnforcementHook
    from robota.intents.selection import IntentSelection

    root = policy.resolver.root
    place = place_of_intents(root) or IntentPlace(home=root, top=root)
    selection = IntentSelection(IntentFiles(root, place.home, place.top))
    selection.enter(call.id, is_subtask=False)
    selection.select(intent_id)
    with TemporaryDirectory() as scratch:  # so that no real lease is taken
        leases = LeaseBook(Path(scratch), call.id, root, timestamp)
        guard = ScopeEnforcementHook(selection, _written_by(policy), leases)
        decision = await guard.before_tool(
            tool, call, HookContext(permission_mode=PermissionMode.DEFAULT, task_id=call.id)
        )
        leases.release()
    return decision


def _written_by(policy: SessionPolicy) -> "WrittenBy":
    def written_by(tool: AnyTool, touches: Touches) -> Sequence[str] | None:
        return policy.written_by(
            Subject(tool=tool.name, label=tool.label, effects=tool.effects, touches=touches, mode="code")
        )

    return written_by


def _watching(
    settings: Settings,
    files: "IntentFiles",
    checkpoints: CallCheckpoints | None,
    tracing: "SessionTracing",
    env: Mapping[str, str],
    *,
    reverts: bool,
) -> "Watching":
    from robota.intents.trace_writer import Watching
    from robota.intents.upkeep.criteria import CriterionRun, CriterionRuns
    from robota.intents.upkeep.lessons import Lesson, note_lesson
    from robota.workspace.text.syntax import shape_of

    async def changed_by(call_id: str) -> "Sequence[ChangedFile] | None":
        from robota.workspace.checkpoints.private_git import CheckpointError

        before = None if checkpoints is None else checkpoints.before_calls.get(call_id)
        try:
            return None if before is None else await asyncio.to_thread(_changed, settings, files, before, env)
        except CheckpointError:
            return None

    def ran(intent: "Intent", command: str, result: ToolResult) -> None:
        run = CriterionRun(passed=not result.is_error, at=timestamp(), why=result.content[-500:] * result.is_error)
        with suppress(OSError):
            CriterionRuns(files.home, user_directory(env)).note(intent.id, command, run)

    def learnt(intent: "Intent", lesson: str) -> None:
        with suppress(OSError):
            note_lesson(files.home, Lesson(intent_id=intent.id, kind="SCOPE_VIOLATION", text=lesson))

    put_back = None if checkpoints is None else partial(_put_back, settings, files, checkpoints, env)
    return Watching(
        changed_by=changed_by,
        shape_of=shape_of,
        begin=tracing.begin,
        end=tracing.end,
        ran=ran,
        put_back=put_back if reverts else None,
        learnt=learnt,
    )


async def _put_back(
    settings: Settings,
    files: "IntentFiles",
    checkpoints: CallCheckpoints,
    env: Mapping[str, str],
    call_id: str,
    paths: Sequence[str],
) -> bool:
    from robota.workspace.checkpoints.private_git import CheckpointError
    from robota.workspace.checkpoints.rewind import carry_out, plan_restore

    before = checkpoints.before_calls.get(call_id)
    start = files.start
    if before is None or not all(path.startswith(start) for path in paths):
        return False
    store = checkpoint_store(settings.values.checkpoints, files.root, env)
    try:
        plan = await asyncio.to_thread(plan_restore, store, before, [path.removeprefix(start) for path in paths])
        await asyncio.to_thread(carry_out, store, plan)
    except CheckpointError:
        return False
    return True


def _changed(settings: Settings, files: "IntentFiles", before: str, env: Mapping[str, str]) -> "list[ChangedFile]":
    """The files that differ between the workspace and the checkpoint before a call."""
    from robota.intents.intent_files import DIRECTORY
    from robota.intents.trace_writer import ChangedFile

    with checkpoint_store(settings.values.checkpoints, files.root, env).opened() as store:
        now = store.capture()
        return [
            ChangedFile(
                path=f"{files.start}{change.path}",
                before=store.content(change.before),
                after=store.content(change.after),
            )
            for change in store.changes(store.completed(before), store.completed(now.id))
            if not change.path.startswith(f"{DIRECTORY}/")
        ]
