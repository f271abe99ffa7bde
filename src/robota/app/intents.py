"""Builds the intent layer of a session, if the workspace has intents or the settings require one."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from robota.app.rewinding.checkpoints import checkpoint_store, has_checkpoints
from robota.config.paths import user_directory
from robota.config.settings.load import Settings
from robota.contracts.hook import SessionHooks
from robota.contracts.tool import AnyTool, ToolCall, Touches
from robota.contracts.verdict import Subject
from robota.engine.calls.call_checkpoints import CallCheckpoints
from robota.engine.runtime.options import Options
from robota.log.chain.writer import SessionLog
from robota.policy.decide import SessionPolicy

if TYPE_CHECKING:
    from robota.contracts.hook import BlockCall, Proceed
    from robota.intents.context_injector import ContextInjectorHook
    from robota.intents.intent_files import IntentFiles
    from robota.intents.leases import LeaseBook
    from robota.intents.recovery.late_trace import LateTrace
    from robota.intents.recovery.session_tracing import SessionTracing
    from robota.intents.scope_enforcement import ScopeEnforcementHook
    from robota.intents.selection import IntentSelection
    from robota.intents.trace_file import TraceFile
    from robota.intents.trace_writer import TraceWriterHook, Watching


class SessionIntents(msgspec.Struct, frozen=True, kw_only=True):
    """The tool and the hooks that intents add to a session; empty without intents."""

    tools: tuple[AnyTool, ...] = ()
    hooks: SessionHooks = SessionHooks()
    selection: "IntentSelection | None" = None
    leases: "LeaseBook | None" = None
    tracing: "SessionTracing | None" = None

    def around(self, hooks: SessionHooks) -> SessionHooks:
        """All hooks of the session. Before a call, those of intents run last, so that they see the final input."""
        if self.leases is None:
            return hooks
        from robota.intents.closing_hooks import ClosingHooks

        return msgspec.structs.replace(
            hooks,
            before=(*hooks.before, *self.hooks.before),
            guards=self.hooks.guards,
            after=(*self.hooks.after, *hooks.after),
            lifecycle=ClosingHooks(self.leases, self.tracing, hooks.lifecycle),
            context=self.hooks.context,
        )

    def declaring(self, tools: Sequence[AnyTool]) -> Sequence[AnyTool]:
        """The tools of a session, with a parameter for the kind of change added to those that edit files."""
        if self.selection is None:
            return tools
        from robota.intents.editing_tools import with_declared_class
        from robota.tools.registry import schema_of

        return tuple(with_declared_class(tool, schema_of(tool), self.selection) for tool in tools)


class _Layer(msgspec.Struct, frozen=True, kw_only=True):
    """What the parts of the intent layer are built from."""

    settings: Settings
    options: Options
    log: SessionLog
    policy: SessionPolicy
    checkpoints: CallCheckpoints | None
    env: Mapping[str, str]
    files: "IntentFiles"
    selection: "IntentSelection"
    leases: "LeaseBook"
    trace: "TraceFile"

    @property
    def reverts(self) -> bool:
        """Whether changes out of scope are undone: not in an attended session, whose user may have made them."""
        return not self.options.launch.attended and self.checkpoints is not None


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
    # Checked first, at every start: most workspaces have no intents, and then nothing is loaded.
    directories = intent_directories(root)
    if directories is None and not settings.values.require_intent:
        return SessionIntents()
    from robota.intents.intent_files import IntentFiles

    directories = directories or IntentDirectories(home=root, top=root)
    files = IntentFiles(root, directories.home, directories.top)
    return _session_intents(_layer(settings, files, options, log, policy, checkpoints, env))


def _layer(
    settings: Settings,
    files: "IntentFiles",
    options: Options,
    log: SessionLog,
    policy: SessionPolicy,
    checkpoints: CallCheckpoints | None,
    env: Mapping[str, str],
) -> _Layer:
    from robota.intents.leases import repository_leases
    from robota.intents.selection import IntentSelection
    from robota.intents.selection_record import selections_in

    return _Layer(
        settings=settings,
        options=options,
        log=log,
        policy=policy,
        checkpoints=checkpoints,
        env=env,
        files=files,
        selection=IntentSelection(files, selections_in(log)),
        leases=repository_leases(files.top, options.session_id, user_directory(env)),
        trace=_trace_file(files, env),
    )


def _session_intents(layer: _Layer) -> SessionIntents:
    from robota.intents.context_injector import ContextInjectorHook
    from robota.intents.trace_file import history_of

    guard = _guard(layer)
    tracing = _session_tracing(layer)
    writer = _writer(layer, guard, tracing)
    context = ContextInjectorHook(layer.selection, lambda id: history_of(layer.trace, id))
    return SessionIntents(
        tools=(_select_tool(layer, context),),
        hooks=SessionHooks(before=(guard, writer), guards=(guard,), after=(writer, context), context=context),
        selection=layer.selection,
        leases=layer.leases,
        tracing=tracing,
    )


def _guard(layer: _Layer) -> "ScopeEnforcementHook":
    from robota.intents.scope_enforcement import ScopeEnforcementHook

    sandbox_works = layer.policy.sandbox_works
    return ScopeEnforcementHook(
        layer.selection,
        partial(_written_by, layer.policy),
        layer.leases,
        is_contained=lambda: layer.reverts and sandbox_works is not None and sandbox_works(),
    )


def _select_tool(layer: _Layer, context: "ContextInjectorHook") -> AnyTool:
    from robota.intents.select_active_intent import IntentDesk, Overlap, select_tool

    overlap = Overlap(layer.settings.values.intent_overlap)
    return select_tool(IntentDesk(selection=layer.selection, context=context, leases=layer.leases, overlap=overlap))


def _writer(layer: _Layer, guard: "ScopeEnforcementHook", tracing: "SessionTracing") -> "TraceWriterHook":
    from robota.intents.trace_writer import TracedSession, TraceWriterHook
    from robota.workspace.git.head_revision import head_revision

    session = TracedSession(
        id=layer.options.session_id,
        log_url=layer.log.path.as_uri(),
        model=layer.options.model,
        revision=lambda: head_revision(Path(os.path.realpath(layer.files.top))),
    )
    return TraceWriterHook(layer.selection, guard, layer.trace, session, _watching(layer, tracing))


def _watching(layer: _Layer, tracing: "SessionTracing") -> "Watching":
    from robota.intents.checkpointed_calls import CheckpointedCalls
    from robota.intents.trace_writer import Watching
    from robota.intents.upkeep.criteria import CriterionRuns
    from robota.intents.upkeep.lessons import note_violation
    from robota.workspace.text.syntax import shape_of

    files, runs = layer.files, CriterionRuns(layer.files.home, user_directory(layer.env))
    before_calls = {} if layer.checkpoints is None else layer.checkpoints.before_calls
    open_store = partial(checkpoint_store, layer.settings.values.checkpoints, files.root, layer.env)
    calls = CheckpointedCalls(files, before_calls, open_store)
    return Watching(
        changed_by=calls.changed_by,
        shape_of=shape_of,
        begin=tracing.begin,
        end=tracing.end,
        ran=lambda intent, command, result: runs.note_result(intent.id, command, result),
        put_back=calls.put_back if layer.reverts else None,
        learnt=lambda intent, lesson: note_violation(files.home, intent.id, lesson),
    )


def _session_tracing(layer: _Layer) -> "SessionTracing":
    """The tracing of a session, after that of killed ones, so that its changes are not taken for theirs."""
    from robota.intents.recovery.session_tracing import SessionTracing
    from robota.intents.recovery.tracing_sessions import TracingSessions

    files, env = layer.files, layer.env
    trace_killed_sessions(IntentDirectories(home=files.home, top=files.top), env)
    sessions = TracingSessions(files.home, user_directory(env))
    late_trace = partial(_late_trace, layer.settings, env, files, layer.log)
    return SessionTracing(layer.log, files.root, sessions, late_trace)


def trace_killed_sessions(directories: "IntentDirectories | None", env: Mapping[str, str]) -> None:
    """Trace what killed sessions changed."""
    if directories is None:
        return
    from robota.config.settings.load import load_settings
    from robota.intents.intent_files import IntentFiles
    from robota.intents.recovery.killed_sessions import trace_killed

    def find_files(root: Path) -> IntentFiles | None:
        directories = intent_directories(root)
        return None if directories is None else IntentFiles(root, directories.home, directories.top)

    def late_trace(files: IntentFiles, log: SessionLog) -> "LateTrace":
        return _late_trace(load_settings(files.root, env), env, files, log)

    trace_killed(directories.home, user_directory(env), find_files, late_trace)


def _late_trace(settings: Settings, env: Mapping[str, str], files: "IntentFiles", log: SessionLog) -> "LateTrace":
    from robota.intents.recovery.late_trace import LateTrace
    from robota.workspace.text.syntax import shape_of

    has_store = has_checkpoints(settings.values.checkpoints, files.root, env)
    store = checkpoint_store(settings.values.checkpoints, files.root, env) if has_store else None
    return LateTrace(files, log, _trace_file(files, env), store, shape_of)


def _trace_file(files: "IntentFiles", env: Mapping[str, str]) -> "TraceFile":
    from robota.intents.trace_file import TraceFile
    from robota.intents.trace_record import timestamp

    return TraceFile(files.home, timestamp, user_directory(env))


def _written_by(policy: SessionPolicy, tool: AnyTool, touches: Touches) -> Sequence[str] | None:
    return policy.written_by(
        Subject(tool=tool.name, label=tool.label, effects=tool.effects, touches=touches, mode="code")
    )


async def judge_scope(policy: SessionPolicy, intent_id: str, tool: AnyTool, call: ToolCall) -> "Proceed | BlockCall":
    """Whether a call is in the scope of an intent, without a session. Raises `IntentRefused`."""
    from robota.intents import scope_enforcement
    from robota.intents.intent_files import IntentFiles

    root = policy.resolver.root
    directories = intent_directories(root) or IntentDirectories(home=root, top=root)
    files = IntentFiles(root, directories.home, directories.top)
    return await scope_enforcement.judge_scope(files, partial(_written_by, policy), intent_id, tool, call)


class IntentDirectories(msgspec.Struct, frozen=True, kw_only=True):
    """Where the intents of a workspace are.

    `home` has `.orchestration/`; `top` is the directory that patterns and records start from. They differ only in a
    worktree that uses the intents of the main checkout. The workspace is `top` or a directory below it.
    """

    home: Path
    top: Path


def intent_directories(root: Path) -> IntentDirectories | None:
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
            return IntentDirectories(home=top, top=top)
    top = in_repository[-1]
    main = _main_checkout(top)
    return IntentDirectories(home=main, top=top) if main is not None and _has_intents(main) else None


def _has_intents(root: Path) -> bool:
    """Whether a directory has a file of intents."""
    return os.path.lexists(root / ".orchestration" / "active_intents.yaml")


def _main_checkout(top: Path) -> Path | None:
    """The main checkout of a worktree."""
    if not (top / ".git").is_file():
        return None
    from robota.workspace.git.git_directories import find_git_directories

    git = find_git_directories(Path(os.path.realpath(top)))
    return None if git is None or git.common.name != ".git" else git.common.parent
