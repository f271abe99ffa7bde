"""List and remove the worktrees of sessions that still run, left changes behind, or were killed."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from robota.agents.worktrees.directory import exists_at, is_worktree_of, known_names, prepare_directory, worktrees_of
from robota.agents.worktrees.errors import WorktreeError
from robota.agents.worktrees.hooks import fire_removal_hooks
from robota.agents.worktrees.lock import is_locked, take_lock
from robota.agents.worktrees.name import branch_of, check_name
from robota.agents.worktrees.removal import remove_branch, remove_checkout
from robota.agents.worktrees.repository import Repository, find_repository
from robota.agents.worktrees.state import WorktreeState, inspect_worktree
from robota.contracts.hook import LifecycleHooks
from robota.workspace.git.run import GitError


class FoundWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """A worktree on disk: its branch, whether it is in use, and what its removal would lose."""

    name: str
    path: Path
    branch: str
    in_use: bool
    state: WorktreeState


async def list_worktrees(directory: Path, env: Mapping[str, str]) -> list[FoundWorktree]:
    """The worktrees of the repository that contains a directory. Raises `WorktreeError`."""
    repository = await find_repository(directory, env)
    return [await _described(repository, name) for name in await known_names(repository)]


async def remove_worktree(
    directory: Path, name: str, env: Mapping[str, str], hooks: LifecycleHooks | None, *, force: bool
) -> str:
    """Remove a worktree and report it. Uncommitted files are lost only with `force`, commits never."""
    check_name(name)
    repository = await find_repository(directory, env)
    await _refuse_unknown(repository, name)
    lock = take_lock(prepare_directory(repository), name)
    if lock is None:
        raise WorktreeError(f"A session is using the worktree {name}. Nothing was changed. End it first.")
    path = worktrees_of(repository.top) / name
    try:
        await _refuse_loss(repository, path, force=force, is_unfinished=lock.is_unfinished)
        messages = await fire_removal_hooks(hooks, path) if exists_at(path) else ""
        await remove_checkout(repository, path)
        return f"The worktree {name} was removed.{await _about_branch(repository, branch_of(name))}{messages}"
    except (GitError, OSError) as error:
        raise WorktreeError(f"The worktree {name} could not be removed: {error}. What is left is in {path}.") from error
    finally:
        lock.release(for_good=not exists_at(path))


async def _described(repository: Repository, name: str) -> FoundWorktree:
    path, branch = worktrees_of(repository.top) / name, branch_of(name)
    return FoundWorktree(
        name=name,
        path=path,
        branch=branch,
        in_use=is_locked(path.parent, name),
        state=await _state(repository, path),
    )


async def _state(repository: Repository, path: Path) -> WorktreeState:
    if not exists_at(path):
        return WorktreeState(obstacle="its files are missing")
    if not is_worktree_of(repository, path):
        return WorktreeState(obstacle="it is not, or not yet, a worktree of this repository")
    return await inspect_worktree(repository.git, path, branch_of(path.name), repository.env)


async def _refuse_unknown(repository: Repository, name: str) -> None:
    names = await known_names(repository)
    ref = f"refs/heads/{branch_of(name)}"
    if name not in names and not await repository.git.agrees("show-ref", "--verify", "--quiet", ref):
        available = f"Available: {', '.join(names)}." if names else "There are none."
        raise WorktreeError(f"There is no worktree {name} in {repository.top}. {available} Nothing was changed.")


async def _refuse_loss(repository: Repository, path: Path, *, force: bool, is_unfinished: bool) -> None:
    """Commits on its branch are not lost, because the branch stays; nor are missing files of an unfinished worktree."""
    if not exists_at(path):
        return
    state = await _state(repository, path)
    if state.loose_commits:
        raise WorktreeError(
            f"The worktree {path.name} has {state.words}, and they are on no branch. Nothing was changed. Create one "
            f"first: git -C {path} branch NAME"
        )
    if (state.files or state.obstacle) and not force and not (is_unfinished and state.lacks_only_files):
        raise WorktreeError(
            f"The worktree {path.name} has unsaved work: {state.words}. Nothing was changed. To look at it: git -C "
            f"{path} status; to remove it anyway: robota worktree remove {path.name} --force"
        )


async def _about_branch(repository: Repository, branch: str) -> str:
    if await remove_branch(repository, branch):
        return ""
    if not await repository.git.agrees("show-ref", "--verify", "--quiet", f"refs/heads/{branch}"):
        return ""
    return (
        f" Its branch {branch} was kept, because it is in use or has commits that are nowhere else. To merge them: "
        f"git merge {branch}; to delete it: git branch -D {branch}"
    )
