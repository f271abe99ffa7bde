"""Builds the `MemoryAccess` for `/memory` and `robota memory`, and runs the checks of entries."""

from collections.abc import Callable, Mapping, Sequence

from robota.app.knowledge.memory import LazyMemory, MemoryPlace, open_memories
from robota.app.session import OpenSession
from robota.app.tool_call import command_passed, session_for_calls
from robota.commands.builtin.memory import MemoryAccess
from robota.config.launch_options import LaunchOptions, settings_for, workspace_root
from robota.engine.calls.executor import Executed
from robota.engine.calls.single_call import call_once
from robota.knowledge.memory.checks import CheckFailed, CheckNotRun, CheckPassed, CheckResult
from robota.knowledge.memory.entry import MemoryOrigin
from robota.knowledge.memory.memories import Memories
from robota.knowledge.memory.session_memory import SessionMemory, UsedMemory
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor
from robota.tools.registry import SHELL_TOOL


def session_memory(opened: OpenSession, env: Mapping[str, str]) -> MemoryAccess:
    """The actions for `/memory` in a session."""
    options, memory = opened.options, opened.services.memory

    def origin() -> MemoryOrigin:
        rows = opened.session.state().cline_messages
        return MemoryOrigin(options.session_id, rows[-1].ts if rows else 0)

    def used() -> UsedMemory:
        return memory.memory.used if isinstance(memory, LazyMemory) else UsedMemory()

    launch = LaunchOptions(cwd=options.cwd, kept_in=opened.kept_in, permission_mode=options.permission_mode)
    memories = open_memories(
        opened.settings, MemoryPlace(root=options.cwd, kept_in=opened.kept_in), env, opened.services.redactor
    )
    return _actions(memories, used, launch, env, origin)


def workspace_memory(launch: LaunchOptions, env: Mapping[str, str]) -> MemoryAccess:
    """The actions for `robota memory`. Raises `ConfigError`."""
    root = workspace_root(launch.cwd)
    settings = settings_for(launch, root, env)
    memories = open_memories(settings, MemoryPlace(root=root, kept_in=root), env, Redactor(secret_variables(env)))
    memory = SessionMemory(memories, "", saves_at_once=False)
    return _actions(memories, lambda: memory.used, launch, env, lambda: None)


def _actions(
    memories: Memories,
    used: Callable[[], UsedMemory],
    launch: LaunchOptions,
    env: Mapping[str, str],
    origin: Callable[[], MemoryOrigin | None],
) -> MemoryAccess:
    async def run(commands: Sequence[str]) -> Sequence[CheckResult]:
        return await _run_checks(launch, env, commands)

    return MemoryAccess(memories=memories, used=used, run=run, origin=origin)


async def _run_checks(launch: LaunchOptions, env: Mapping[str, str], commands: Sequence[str]) -> list[CheckResult]:
    """Run commands one after the other in a session of their own."""
    async with session_for_calls(launch, env, "memory check") as opened:
        return [
            _check_result(await call_once(opened.options, opened.services, SHELL_TOOL, {"command": command}))
            for command in commands
        ]


def _check_result(executed: Executed) -> CheckResult:
    if executed.status == "denied":
        return CheckNotRun(executed.reason or "it is not allowed")
    if command_passed(executed):
        return CheckPassed()
    return CheckFailed(" ".join(executed.result.content.split()))
