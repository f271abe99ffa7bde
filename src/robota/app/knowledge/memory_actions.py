"""What `/memory` and `robota memory` work with, and how the checks of entries run."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from robota.app.knowledge.memory import LateMemory, MemoryPlace, memories_of
from robota.app.session import OpenSession, open_session
from robota.commands.memory_actions import MemoryActions
from robota.config.launch_options import LaunchOptions, settings_for, workspace_root
from robota.engine.calls.executor import Executed
from robota.engine.calls.single_call import call_once
from robota.knowledge.memory.checks import CheckFailed, CheckNotRun, CheckPassed, CheckResult
from robota.knowledge.memory.entry import MemoryOrigin
from robota.knowledge.memory.memories import Memories
from robota.knowledge.memory.session_memory import SessionMemory, UsedMemory
from robota.protocol.views import TerminalView
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor
from robota.tools.registry import SHELL_TOOL


def memory_actions_of_session(opened: OpenSession, env: Mapping[str, str]) -> MemoryActions:
    """What `/memory` works with in a session."""
    options, memory = opened.options, opened.services.memory

    def origin() -> MemoryOrigin:
        rows = opened.session.state().cline_messages
        return MemoryOrigin(options.session_id, rows[-1].ts if rows else 0)

    def used() -> UsedMemory:
        return memory.memory.used if isinstance(memory, LateMemory) else UsedMemory()

    launch = LaunchOptions(cwd=options.cwd, kept_in=opened.kept_in, permission_mode=options.permission_mode)
    memories = memories_of(
        opened.settings, MemoryPlace(root=options.cwd, kept_in=opened.kept_in), env, opened.services.redactor
    )
    return _actions(memories, used, launch, env, origin)


def memory_actions_of_workspace(launch: LaunchOptions, env: Mapping[str, str]) -> MemoryActions:
    """What `robota memory` works with. Raises `ConfigError`."""
    root = workspace_root(launch.cwd)
    settings = settings_for(launch, root, env)
    memories = memories_of(settings, MemoryPlace(root=root, kept_in=root), env, Redactor(secret_variables(env)))
    memory = SessionMemory(memories, "", saves_at_once=False)
    return _actions(memories, lambda: memory.used, launch, env, lambda: None)


def _actions(
    memories: Memories,
    used: Callable[[], UsedMemory],
    launch: LaunchOptions,
    env: Mapping[str, str],
    origin: Callable[[], MemoryOrigin | None],
) -> MemoryActions:
    async def run(commands: Sequence[str]) -> Sequence[CheckResult]:
        return await _run_checks(launch, env, commands)

    return MemoryActions(memories=memories, used=used, run=run, origin=origin)


async def _run_checks(launch: LaunchOptions, env: Mapping[str, str], commands: Sequence[str]) -> list[CheckResult]:
    """Run commands one after the other, judged, confined and logged as in a session of their own."""
    alone = msgspec.structs.replace(launch, needs_model=False, attended=False, name="memory check")
    opened = open_session(alone, env)
    try:
        return [
            _result(await call_once(opened.options, opened.services, SHELL_TOOL, {"command": command}))
            for command in commands
        ]
    finally:
        await opened.close()


def _result(executed: Executed) -> CheckResult:
    view = executed.result.view
    if executed.status == "denied":
        return CheckNotRun(executed.reason or "it is not allowed")
    if isinstance(view, TerminalView) and view.exit_code == 0 and not executed.result.is_error:
        return CheckPassed()
    return CheckFailed(" ".join(executed.result.content.split()))
