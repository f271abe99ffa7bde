"""Runs a session in a git worktree of its own."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import msgspec

from robota.agents.worktrees.creation import WorktreeRequest
from robota.agents.worktrees.session import enter_worktree, leave_worktree
from robota.app.hooks import hooks_outside_session
from robota.config.launch_options import LaunchOptions, settings_for, workspace_root
from robota.contracts.hook import HookEvent
from robota.log.chain.writer import wall_clock_ms
from robota.log.new_session import SESSION_ID_BYTES
from robota.log.store import new_session_id
from robota.text.visible import single_line


@asynccontextmanager
async def in_worktree(
    launch: LaunchOptions, name: str, env: Mapping[str, str], notify: Callable[[str], None]
) -> AsyncIterator[LaunchOptions]:
    """Create a worktree, and yield the launch options for a session in it. A worktree without changes is removed."""
    main = workspace_root(launch.cwd)
    settings = settings_for(launch, main, env)
    session_id = launch.session_id or new_session_id(wall_clock_ms(), os.urandom(SESSION_ID_BYTES))
    hooks = hooks_outside_session(settings, main, session_id, env)
    request = WorktreeRequest(
        cwd=main,
        name=name,
        env=env,
        snapshot=None if settings.trust is None else settings.trust.snapshot,
        is_trusted=settings.is_trusted,
        hooks=hooks,
        hook_creates=HookEvent.WORKTREE_CREATE in settings.values.hooks,
    )
    worktree = await enter_worktree(request)
    try:
        for notice in (
            f"This session uses the worktree {single_line(str(worktree.path), 4096)}",
            *worktree.notices,
        ):
            notify(notice)
        yield msgspec.structs.replace(launch, cwd=worktree.root, kept_in=main, session_id=session_id)
    finally:
        notify(await leave_worktree(worktree, hooks))
        if hooks is not None:
            await hooks.close()
