"""Runs agents in processes of their own, in the directory of the session or in a worktree."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from robota.agents.processes.agent_process import AgentOrders, agent_process
from robota.agents.worktrees.agent_worktree import AgentsWorktree, enter_agents_worktree, leave_agents_worktree
from robota.agents.worktrees.creation import WorktreeRequest
from robota.app.hooks import hooks_outside_session
from robota.config.launch_options import LaunchOptions
from robota.config.settings.load import Settings
from robota.contracts.hook import HookEvent
from robota.engine.runtime.agent_service import AgentProcess, ProcessWanted


@asynccontextmanager
async def process_for(
    wanted: ProcessWanted, settings: Settings, root: Path, kept_in: Path, env: Mapping[str, str]
) -> AsyncIterator[AgentProcess]:
    """A process for one turn of an agent. A worktree without changes is removed with it. Raises `ConfigError`."""
    async with AsyncExitStack() as stack:
        there = await _worktree(wanted, settings, root, env, stack)
        launch = _launch(wanted, root if there is None else there.root, kept_in)
        ended: AgentProcess | None = None
        try:
            async with agent_process(AgentOrders(launch=launch, place=wanted.place), env) as child:
                ended = AgentProcess(child.port, child.pid, None if there is None else there.facts)
                yield ended
        finally:
            if there is not None:
                left = await leave_agents_worktree(there)
                if ended is not None:
                    ended.left, ended.worktree = left.words, left.facts


def _launch(wanted: ProcessWanted, root: Path, kept_in: Path) -> LaunchOptions:
    address = wanted.address
    return msgspec.structs.replace(
        wanted.launch,
        cwd=root,
        kept_in=kept_in,
        session_id=None if wanted.is_resumed else address.session_id,
        resumes=address.log_path.parent if wanted.is_resumed else None,
        attended=True,  # by this process
        place=None,  # told beside
    )


async def _worktree(
    wanted: ProcessWanted, settings: Settings, root: Path, env: Mapping[str, str], stack: AsyncExitStack
) -> AgentsWorktree | None:
    if not wanted.wants_worktree:
        return None
    hooks = hooks_outside_session(settings, root, wanted.address.session_id, env)
    if hooks is not None:
        stack.push_async_callback(hooks.close)
    request = WorktreeRequest(
        cwd=root,
        name="",
        env=env,
        snapshot=None if settings.trust is None else settings.trust.snapshot,
        is_trusted=settings.is_trusted,
        hooks=hooks,
        hook_creates=HookEvent.WORKTREE_CREATE in settings.values.hooks,
    )
    return await enter_agents_worktree(request, wanted.place.identity.id, wanted.worktree)
