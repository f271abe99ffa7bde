"""A worktree for one session: created or reused at its start, removed at its end if nothing would be lost."""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from robota.agents.worktrees.creation import WorktreeRequest, copy_files, create_worktree, refresh_settings
from robota.agents.worktrees.directory import exists_at, is_worktree_of, prepare_directory
from robota.agents.worktrees.errors import WorktreeError
from robota.agents.worktrees.hooks import create_worktree_by_hook, fire_removal_hooks
from robota.agents.worktrees.lock import WorktreeLock, take_lock
from robota.agents.worktrees.name import RANDOM_BYTES, branch_of, check_name, new_name
from robota.agents.worktrees.removal import remove_branch, remove_checkout
from robota.agents.worktrees.repository import Repository, base_commit, find_repository
from robota.agents.worktrees.state import inspect_worktree
from robota.contracts.hook import LifecycleHooks
from robota.text.visible import single_line
from robota.workspace.git.run import GitError


class Worktree(msgspec.Struct, frozen=True, kw_only=True):
    """The directory a session works in (`root`), in the worktree at `path`. Without a lock, a hook created it."""

    name: str
    path: Path
    root: Path
    repository: Repository | None
    lock: WorktreeLock | None = None
    notices: tuple[str, ...] = ()

    @property
    def branch(self) -> str | None:
        return None if self.lock is None else branch_of(self.name)


async def enter_worktree(request: WorktreeRequest, base: str | None = None) -> Worktree:
    """A worktree that no other session uses, from the commit `base` or the current one.

    Raises `WorktreeError`, and then nothing was changed.
    """
    name = request.name or new_name(os.urandom(RANDOM_BYTES))
    check_name(name)
    if request.hooks is not None and request.hook_creates:
        return await _create_by_hook(request, request.hooks, name)
    repository = await find_repository(request.cwd, request.env)
    base = base or await base_commit(repository)
    directory = prepare_directory(repository)
    lock = take_lock(directory, name)
    if lock is None:
        raise WorktreeError(
            f"Another session is using the worktree {name}. Nothing was changed. "
            "Choose another name, or wait until it has ended."
        )
    try:
        return await _open_or_create(request, repository, base, lock, directory / name)
    except BaseException:
        lock.release(for_good=not (directory / name).exists())
        raise


async def leave_worktree(worktree: Worktree, hooks: LifecycleHooks | None) -> str:
    """Remove it if nothing would be lost. Returns a message for the user."""
    is_gone = False
    try:
        words = await _remove_if_clean(worktree, hooks)
        is_gone = not worktree.path.exists()
        return words
    except (GitError, OSError) as error:
        return (
            f"The worktree {worktree.name} was kept, because it could not be removed: {error}. {_next_steps(worktree)}"
        )
    finally:
        if worktree.lock is not None:
            worktree.lock.release(for_good=is_gone)


def keep_worktree(worktree: Worktree) -> None:
    """Leave it as it is: its session goes on in another process."""
    if worktree.lock is not None:
        worktree.lock.release(for_good=False)


async def _create_by_hook(request: WorktreeRequest, hooks: LifecycleHooks, name: str) -> Worktree:
    try:
        repository = await find_repository(request.cwd, request.env)
    except WorktreeError:
        repository = None  # The hook may use another version control system.
    path = await create_worktree_by_hook(hooks, name, repository.top if repository else request.cwd)
    inside = path / repository.inside if repository is not None else path
    root = inside if inside.is_dir() else path
    notices = await copy_files(request, repository, root)
    return Worktree(name=name, path=path, root=root, repository=repository, notices=notices)


async def _open_or_create(
    request: WorktreeRequest, repository: Repository, base: str, lock: WorktreeLock, path: Path
) -> Worktree:
    notices: tuple[str, ...] = ()
    if lock.is_unfinished:
        await _clear_remains(repository, path)
    if exists_at(path):
        if not is_worktree_of(repository, path):
            raise WorktreeError(
                f"{single_line(str(path), 4096)} exists and is not a worktree of this repository. Nothing was changed. "
                f"Choose another name, or look at it and remove it: robota worktree remove {path.name} --force"
            )
        await refresh_settings(request, repository, path)
        notices = (f"The worktree {path.name} already exists; this session continues in it.",)
    else:
        notices = await _create(request, repository, base, lock, path)
    root = path / repository.inside
    if not root.is_dir():
        raise WorktreeError(f"{single_line(str(root), 4096)} is not a directory in this worktree. Nothing was started.")
    return Worktree(name=path.name, path=path, root=root, repository=repository, lock=lock, notices=notices)


async def _create(
    request: WorktreeRequest, repository: Repository, base: str, lock: WorktreeLock, path: Path
) -> tuple[str, ...]:
    """Create it. If the process is killed meanwhile, the lock file still says that it is unfinished."""
    try:
        lock.begin()
        notices = await create_worktree(request, repository, path, base)
        lock.finish()
    except OSError as error:
        raise WorktreeError(f"{lock.file} cannot be written: {error.strerror}. Nothing was started.") from error
    return notices


async def _clear_remains(repository: Repository, path: Path) -> None:
    """Remove what a session left behind that was killed while creating or removing the worktree, if nothing is lost."""
    if exists_at(path) and is_worktree_of(repository, path):
        state = await inspect_worktree(repository.git, path, branch_of(path.name), repository.env)
        if not state.lacks_only_files:
            raise WorktreeError(
                f"The worktree {path.name} was not finished, because a session was killed while it made or removed it, "
                f"and there is something in it: {state.words}. Nothing was changed. To look: git -C {path} status; "
                f"to remove it: robota worktree remove {path.name} --force"
            )
        await remove_checkout(repository, path)
    await remove_branch(repository, branch_of(path.name))


async def _remove_if_clean(worktree: Worktree, hooks: LifecycleHooks | None) -> str:
    repository = worktree.repository
    if not worktree.path.exists():
        return f"The worktree {worktree.name} no longer exists: it was removed by another program."
    if repository is None or not is_worktree_of(repository, worktree.path):
        return f"The worktree {worktree.name} was kept: {single_line(str(worktree.path), 4096)}"
    state = await inspect_worktree(repository.git, worktree.path, worktree.branch, repository.env)
    if not state.nothing_to_lose:
        return f"The worktree {worktree.name} was kept: {state.words}. {_next_steps(worktree)}"
    messages = await fire_removal_hooks(hooks, worktree.path)
    if worktree.lock is not None:
        with suppress(OSError):  # On a full disk the mark cannot be written, but removing frees space.
            worktree.lock.begin()
    await remove_checkout(repository, worktree.path)
    if worktree.branch is not None:
        await remove_branch(repository, worktree.branch)
    return f"The worktree {worktree.name} had no changes and was removed.{messages}"


def _next_steps(worktree: Worktree) -> str:
    lines = [f"\n  path:           {single_line(str(worktree.path), 4096)}"]
    if worktree.branch is not None:
        lines += [
            f"  to continue:    robota -w {worktree.name} -p …",
            f"  to merge:       commit in it, then: git merge {worktree.branch}",
            f"  to remove it:   robota worktree remove {worktree.name}",
        ]
    return "\n".join(lines)
