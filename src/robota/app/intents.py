"""The intent layer of a session, where the workspace has intents or the settings want one."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from robota.app.rewinding.checkpoints import checkpoint_store
from robota.config.paths import user_directory
from robota.config.settings.load import Settings
from robota.contracts.hook import SessionHooks
from robota.contracts.tool import AnyTool, Touches
from robota.contracts.verdict import Decision, Subject
from robota.engine.calls.call_checkpoints import CallCheckpoints
from robota.engine.runtime.options import Options
from robota.log.chain.writer import SessionLog
from robota.policy.decide import SessionPolicy
from robota.protocol.permission_mode import PermissionMode

if TYPE_CHECKING:
    from robota.intents.trace_writer import ChangedByCall


class SessionIntents(msgspec.Struct, frozen=True, kw_only=True):
    """What intents add to a session: a tool for the model, and hooks around its calls."""

    tools: tuple[AnyTool, ...] = ()
    hooks: SessionHooks = SessionHooks()

    def around(self, hooks: SessionHooks) -> SessionHooks:
        """All hooks of the session. Intents come last before a call: they see the input as it will be used."""
        return msgspec.structs.replace(
            hooks, before=(*hooks.before, *self.hooks.before), after=(*self.hooks.after, *hooks.after)
        )


def session_intents(
    settings: Settings,
    root: Path,
    options: Options,
    log: SessionLog,
    policy: SessionPolicy,
    checkpoints: CallCheckpoints | None,
    env: Mapping[str, str],
) -> SessionIntents:
    """Nothing, unless the workspace has a file of intents or the person wants one everywhere."""
    required = settings.values.require_intent
    # Asked at every start: most workspaces have none, and then nothing is loaded.
    if not required and not (root / ".orchestration").is_dir():
        return SessionIntents()
    from robota.intents.intent_files import IntentFiles, has_intents
    from robota.intents.scope_guard import ScopeGuard
    from robota.intents.select_active_intent import select_tool
    from robota.intents.selection import IntentSelection
    from robota.intents.trace_file import TraceFile
    from robota.intents.trace_writer import TracedSession, TraceWriter

    if not required and not has_intents(root):
        return SessionIntents()
    selection = IntentSelection(IntentFiles(root))
    guard = ScopeGuard(selection, _looks_only(policy))
    trace = TraceFile(root, lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"), user_directory(env))
    session = TracedSession(id=options.session_id, log_url=log.path.as_uri(), model=options.model)
    writer = TraceWriter(selection, guard, trace, session, _changed_by(settings, root, checkpoints, env))
    return SessionIntents(
        tools=(select_tool(selection, trace),), hooks=SessionHooks(before=(guard, writer), after=(writer,))
    )


def _looks_only(policy: SessionPolicy) -> Callable[[AnyTool, Touches], bool]:
    """Whether a command changes nothing: then it may also run in plan mode."""

    def looks_only(tool: AnyTool, touches: Touches) -> bool:
        if touches.command is None:
            return False
        subject = Subject(tool=tool.name, label=tool.label, effects=tool.effects, touches=touches, mode="code")
        return policy.judge(subject, PermissionMode.PLAN, ()).decision is Decision.ALLOW

    return looks_only


def _changed_by(
    settings: Settings, root: Path, checkpoints: CallCheckpoints | None, env: Mapping[str, str]
) -> "ChangedByCall":
    """What a call changed: the workspace now against the checkpoint from before it."""
    from robota.intents.intent_files import DIRECTORY
    from robota.intents.trace_writer import ChangedFile

    def compare(before: str) -> list[ChangedFile]:
        with checkpoint_store(settings.values.checkpoints, root, env).opened() as store:
            now = store.capture()
            return [
                ChangedFile(path=change.path, before=store.content(change.before), after=store.content(change.after))
                for change in store.changes(store.completed(before), store.completed(now.id))
                if not change.path.startswith(f"{DIRECTORY}/")
            ]

    async def changed_by(call_id: str) -> Sequence[ChangedFile] | None:
        before = None if checkpoints is None else checkpoints.before_calls.get(call_id)
        return None if before is None else await asyncio.to_thread(compare, before)

    return changed_by
