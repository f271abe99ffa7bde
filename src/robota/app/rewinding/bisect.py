"""Runs a test command in checked-out states of a workspace to find the first bad one, for `robota bisect`."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from robota.app.policy import session_policy
from robota.app.rewinding.checkpoints import checkpoint_store
from robota.app.sandbox import session_sandbox, withheld_variables
from robota.config.launch_options import LaunchOptions, settings_for
from robota.config.settings.load import Settings
from robota.contracts.verdict import Decision, Subject
from robota.engine.rewind.bisect import SearchResult, Trial, WorkspaceState, first_bad, states_of
from robota.log.replay.rewind_points import RewindHistory
from robota.protocol.permission_mode import PermissionMode
from robota.tools.registry import SHELL_TOOL, builtin_tools, by_name
from robota.workspace.checkpoints.scratch import scratch_directory
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.wrapped_command import unwrapped

# By exit code, as for `git bisect run`; all others are bad.
TRIALS = {0: Trial.GOOD, 125: Trial.SKIPPED}


class ForbiddenTest(Exception):
    """Policy denies the test command; the message says why."""


class Bisection(msgspec.Struct, frozen=True, kw_only=True):
    """The test command and its workspace. `tell` is called before and after each trial."""

    workspace: Path
    command: str
    timeout_s: float
    tell: Callable[[WorkspaceState, Trial | None], None]


async def bisect(bisection: Bisection, history: RewindHistory, env: Mapping[str, str]) -> SearchResult:
    """Find the first state in which the command fails. Raises `ForbiddenTest` and `CheckpointError`."""
    launch = LaunchOptions(cwd=bisection.workspace)
    settings = settings_for(launch, bisection.workspace, env)
    _require_allowed(bisection, launch, settings, env)
    store = checkpoint_store(settings.values.checkpoints, bisection.workspace, env)

    async def test(state: WorkspaceState) -> Trial:
        bisection.tell(state, None)
        with scratch_directory(store, state.checkpoint) as scratch:
            trial = await _trial(bisection, scratch, settings, env)
        bisection.tell(state, trial)
        return trial

    return await first_bad(states_of(history.points, store.capture().id), test)


async def _trial(bisection: Bisection, scratch: Path, settings: Settings, env: Mapping[str, str]) -> Trial:
    """Run the command in a checked-out state."""
    sandbox = session_sandbox(settings, scratch, env)
    processes = LocalProcesses(
        wrap=unwrapped if sandbox is None else sandbox.wrap,
        environment=settings.values.env,
        withheld=withheld_variables(settings),
    )
    try:
        ended = await processes.run(bisection.command, scratch, bisection.timeout_s, lambda text: None)
    finally:
        processes.close()
        if sandbox is not None:
            sandbox.close()
    if ended.output_file is not None:
        ended.output_file.unlink(missing_ok=True)
    return Trial.BAD if ended.exit_code is None else TRIALS.get(ended.exit_code, Trial.BAD)


def _require_allowed(bisection: Bisection, launch: LaunchOptions, settings: Settings, env: Mapping[str, str]) -> None:
    """Raise `ForbiddenTest` if a rule denies the command. The user typed it, so it needs no approval."""
    policy, _ = session_policy(launch, settings, bisection.workspace, None, env)
    tool = by_name(builtin_tools())[SHELL_TOOL]
    params = tool.decode({"command": bisection.command})
    subject = Subject(
        tool=tool.name, label=tool.label, effects=tool.effects_of(params), touches=tool.touches(params), mode="code"
    )
    verdict = policy.judge(subject, PermissionMode.DEFAULT, ())
    if verdict.decision is Decision.DENY:
        raise ForbiddenTest(f"The test may not run: {verdict.reason}. Nothing was run")
