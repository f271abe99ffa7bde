"""Remove a worktree. The caller has checked that nothing is lost, or the user has accepted the loss."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from robota.agents.worktrees.repository import Repository
from robota.agents.worktrees.state import commits_only_on
from robota.workspace.git.run import GitError

REMOVE_S: Final = 600.0


async def remove_checkout(repository: Repository, path: Path) -> None:
    """Remove its files and its entry in git, even if it is incomplete or its files are gone."""
    removal = ("worktree", "remove", "--force", "--force", "--", str(path))
    with suppress(GitError):
        await repository.git.run(*removal, timeout_s=REMOVE_S)
    if _delete(path):
        # git does not list it, or could not finish. Its entry can be pruned once the files are gone.
        with suppress(GitError):
            await repository.git.run(*removal)


async def remove_branch(repository: Repository, branch: str) -> bool:
    """Delete the branch. False if it does not exist, has commits that are nowhere else, or is checked out elsewhere."""
    git = repository.git
    ref = f"refs/heads/{branch}"
    if not await git.agrees("show-ref", "--verify", "--quiet", ref):
        return False
    tip = await git.line("rev-parse", "--verify", f"{ref}^{{commit}}")
    if await commits_only_on(git, branch, [tip]):
        return False
    if f"branch {ref}" in (await git.run("worktree", "list", "--porcelain")).split("\n"):
        return False
    # Only if it still points to the commit that was checked: a newer commit must not be lost.
    # And only this ref: a symbolic one points to another branch, which must stay.
    await git.run("update-ref", "--no-deref", "-d", ref, tip)
    return True


def _delete(path: Path) -> bool:
    """Delete a path; returns whether it existed. A link is deleted, not followed."""
    if not os.path.lexists(path):
        return False
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
    return True
