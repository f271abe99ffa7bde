"""The memory of a workspace, for the verbs of memory."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from robota.app.knowledge.memory import LazyService, MemoryDirectories, open_memories
from robota.app.session import OpenSession
from robota.app.tool_call import command_passed, session_for_calls
from robota.commands.verb_host import VerbHost
from robota.config.launch_options import LaunchOptions
from robota.engine.calls.executor import Executed
from robota.engine.calls.single_call import call_once
from robota.knowledge.memory.checks import CheckFailed, CheckNotRun, CheckPassed, CheckResult, RunChecks
from robota.knowledge.memory.entry import MemoryOrigin
from robota.knowledge.memory.memories import Memories
from robota.knowledge.memory.session_memory import SessionMemory, UsedMemory
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor
from robota.tools.registry import SHELL_TOOL


class MemoryAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The memory of a workspace. `used` returns what was sent to the model, `run` runs the commands of checks."""

    memories: Memories
    used: Callable[[], UsedMemory]
    run: RunChecks
    origin: MemoryOrigin | None


def open_memory(host: VerbHost) -> MemoryAccess:
    """The memory of a conversation or of a shell. Raises `ConfigError`."""
    opened = host.opened
    redactor = Redactor(secret_variables(host.env)) if opened is None else opened.services.redactor
    memories = open_memories(host.settings, MemoryDirectories(root=host.root, kept_in=host.kept_in), host.env, redactor)
    return MemoryAccess(
        memories=memories,
        used=lambda: _used(memories, opened),
        run=partial(_run_checks, host.launch, host.env),
        origin=None if opened is None else _origin(opened),
    )


def _used(memories: Memories, opened: OpenSession | None) -> UsedMemory:
    if opened is None:
        return SessionMemory(memories, "", saves_at_once=False).used
    memory = opened.services.memory
    return memory.service.used if isinstance(memory, LazyService) else UsedMemory()


def _origin(opened: OpenSession) -> MemoryOrigin:
    rows = opened.session.state().cline_messages
    return MemoryOrigin(opened.options.session_id, rows[-1].ts if rows else 0)


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
