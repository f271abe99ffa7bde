"""Runs a session in a git worktree of its own."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from robota.agents.worktrees.creation import WorktreeRequest
from robota.agents.worktrees.session import enter_worktree, keep_worktree, leave_worktree
from robota.app.hooks import hooks_outside_session
from robota.config.launch_options import LaunchOptions, settings_for, workspace_root
from robota.config.settings.load import Settings
from robota.contracts.hook import HookEvent, LifecycleHooks
from robota.log.chain.writer import wall_clock_ms
from robota.log.new_session import SESSION_ID_BYTES
from robota.log.store import new_session_id
from robota.text.visible import single_line


class InWorktree(msgspec.Struct):
    """The launch options of a session in a worktree. With `goes_on` it continues elsewhere, so the worktree stays."""

    launch: LaunchOptions
    goes_on: bool = False


@asynccontextmanager
async def in_worktree(
    launch: LaunchOptions, name: str, env: Mapping[str, str], notify: Callable[[str], None]
) -> AsyncIterator[InWorktree]:
    """Create a worktree for a session. A worktree without changes is removed."""
    main = workspace_root(launch.cwd)
    settings = settings_for(launch, main, env)
    session_id = launch.session_id or new_session_id(wall_clock_ms(), os.urandom(SESSION_ID_BYTES))
    hooks = hooks_outside_session(settings, main, session_id, env)
    worktree = await enter_worktree(_request(main, name, env, settings, hooks))
    launch = msgspec.structs.replace(launch, cwd=worktree.root, kept_in=main, session_id=session_id)
    session = InWorktree(launch)
    try:
        notify(f"This session uses the worktree {single_line(str(worktree.path), 4096)}")
        for notice in worktree.notices:
            notify(notice)
        yield session
    finally:
        if session.goes_on:
            keep_worktree(worktree)
        else:
            notify(await leave_worktree(worktree, hooks))
        if hooks is not None:
            await hooks.close()


def _request(
    main: Path, name: str, env: Mapping[str, str], settings: Settings, hooks: LifecycleHooks | None
) -> WorktreeRequest:
    return WorktreeRequest(
        cwd=main,
        name=name,
        env=env,
        snapshot=None if settings.trust is None else settings.trust.snapshot,
        is_trusted=settings.is_trusted,
        hooks=hooks,
        hook_creates=HookEvent.WORKTREE_CREATE in settings.values.hooks,
    )
