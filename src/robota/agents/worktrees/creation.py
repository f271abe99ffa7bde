"""Create a worktree: the checkout, its branch, and the files that git does not check out."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.agents.worktrees.copied_files import Copied, copy_included, copy_settings
from robota.agents.worktrees.errors import WorktreeError
from robota.agents.worktrees.name import branch_of
from robota.agents.worktrees.removal import remove_branch, remove_checkout
from robota.agents.worktrees.repository import Repository
from robota.config.trust.sources import Snapshot
from robota.contracts.hook import LifecycleHooks
from robota.text.visible import single_line
from robota.workspace.git.run import GitError, open_git

CHECKOUT_S: Final = 600.0


class WorktreeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The worktree to create. `cwd` is a real path; without a `name`, one is generated.

    `snapshot` is the configuration that the workspace would load, if any. `hook_creates`: a hook creates it.
    """

    cwd: Path
    name: str
    env: Mapping[str, str]
    snapshot: Snapshot | None = None
    is_trusted: bool = False
    hooks: LifecycleHooks | None = None
    hook_creates: bool = False


async def create_worktree(request: WorktreeRequest, repository: Repository, path: Path, base: str) -> tuple[str, ...]:
    """Create a worktree at `path` with its own branch. Returns notices; a failure leaves nothing behind."""
    branch = branch_of(path.name)
    if await repository.git.agrees("show-ref", "--verify", "--quiet", f"refs/heads/{branch}"):
        raise WorktreeError(
            f"There is already a branch {branch}, perhaps of an earlier worktree. Nothing was changed. Choose another "
            f"name, or if the branch is no longer needed: robota worktree remove {path.name}"
        )
    try:
        await _check_out(repository, path, branch, base)
        return await copy_files(request, repository, path / repository.inside)
    except BaseException as error:
        await _undo(repository, path, branch)
        if isinstance(error, GitError | OSError):
            raise WorktreeError(
                f"The worktree {path.name} could not be created: {single_line(str(error), 500)}. What was created was "
                "removed again."
            ) from error
        raise


async def refresh_settings(request: WorktreeRequest, repository: Repository, path: Path) -> None:
    """Update the ignored settings in the worktree of an earlier session to those of the repository."""
    target = path / repository.inside
    if request.snapshot is None or not target.is_dir():
        return
    try:
        git = msgspec.structs.replace(repository.git, directory=request.cwd)
        inner = await open_git(target, repository.env)
        _require_all(await copy_settings(git, request.snapshot, target, ignored_there=inner))
    except GitError as error:
        raise WorktreeError(
            f"git cannot work in {path}: {single_line(str(error), 500)}. Nothing was started."
        ) from error


async def copy_files(request: WorktreeRequest, repository: Repository | None, target: Path) -> tuple[str, ...]:
    """Copy what git does not check out; a trusted workspace may list more files."""
    if request.snapshot is None:
        return ()
    git = None if repository is None else msgspec.structs.replace(repository.git, directory=request.cwd)
    included = Copied()
    try:
        _require_all(await copy_settings(git, request.snapshot, target))
        if request.is_trusted and git is not None:
            included = await copy_included(git, request.snapshot, target)
    except GitError as error:
        raise WorktreeError(
            f"git cannot list the ignored files: {single_line(str(error), 400)} Nothing was started."
        ) from error
    return (_not_copied(included),) if included.left_out else ()


async def _check_out(repository: Repository, path: Path, branch: str, base: str) -> None:
    await repository.git.run("worktree", "add", "--quiet", "--no-checkout", "-b", branch, "--", str(path), base)
    # Only now is it known which filters would run in the new worktree; they are disabled before any can.
    inner = await open_git(path, repository.env)
    await inner.run("reset", "--hard", "--quiet", "--no-recurse-submodules", base, timeout_s=CHECKOUT_S)


async def _undo(repository: Repository, path: Path, branch: str) -> None:
    with suppress(GitError, OSError):
        await remove_checkout(repository, path)
    with suppress(GitError):
        await remove_branch(repository, branch)


def _require_all(copied: Copied) -> None:
    """Raise if a settings file was not copied: it may contain deny rules, so no session starts without it."""
    if copied.left_out:
        raise WorktreeError(f"{_not_copied(copied)} Nothing was started.")


def _not_copied(copied: Copied) -> str:
    names = "; ".join(single_line(name, 200) for name in copied.left_out[:5])
    more = f" and {len(copied.left_out) - 5} more" if len(copied.left_out) > 5 else ""
    return f"Not copied to the worktree: {names}{more}."
