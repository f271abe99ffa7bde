"""Hooks around worktrees: one may create the worktree instead of Robota, one runs before it is removed."""

from pathlib import Path

from robota.agents.worktrees.errors import WorktreeError
from robota.contracts.hook import HookEvent, LifecycleHooks
from robota.text.visible import single_line


async def create_worktree_by_hook(hooks: LifecycleHooks, name: str, project: Path) -> Path:
    """The directory that the hook names in its last line. Raises `WorktreeError`."""
    result = await hooks.fire(HookEvent.WORKTREE_CREATE, name=name)
    refused = result.blocked or result.stopped
    if refused is not None:
        raise WorktreeError(
            f"The WorktreeCreate hook created no worktree: {single_line(refused, 500)} Nothing was started."
        )
    lines = result.output.strip().splitlines()
    if not lines:
        raise WorktreeError("The WorktreeCreate hook named no directory, or took too long. Nothing was started.")
    try:
        path = (project / lines[-1].strip()).resolve(strict=True)
    except (OSError, ValueError) as error:
        raise WorktreeError(_unusable(lines[-1], "does not exist")) from error
    if not path.is_dir():
        raise WorktreeError(_unusable(lines[-1], "is not a directory"))
    if project.is_relative_to(path):
        raise WorktreeError(_unusable(lines[-1], "is the project itself or a parent directory of it"))
    return path


async def fire_removal_hooks(hooks: LifecycleHooks | None, path: Path) -> str:
    """Run the hooks before a worktree is removed. Returns their messages for the user."""
    if hooks is None:
        return ""
    result = await hooks.fire(HookEvent.WORKTREE_REMOVE, worktree_path=str(path))
    return "".join(f"\n{single_line(message, 500)}" for message in result.messages)


def _unusable(line: str, why: str) -> str:
    named = single_line(line, 4096)
    return f"The WorktreeCreate hook named {named!r}, which {why}. Nothing was started. Correct the hook."
