"""Taking a worktree away again. Whoever calls this has made sure that nothing is lost, or was told to."""

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
    """Its files and what git knows of it; also if it is half made, or if its files are gone."""
    removal = ("worktree", "remove", "--force", "--force", "--", str(path))
    with suppress(GitError):
        await repository.git.run(*removal, timeout_s=REMOVE_S)
    if _delete(path):
        # git did not know it, or could not finish. Its own entry can go after the files have gone.
        with suppress(GitError):
            await repository.git.run(*removal)


async def remove_branch(repository: Repository, branch: str) -> bool:
    """False if it is not there, has commits that are nowhere else, or is in use somewhere; then it stays."""
    git = repository.git
    ref = f"refs/heads/{branch}"
    if not await git.agrees("show-ref", "--verify", "--quiet", ref):
        return False
    tip = await git.line("rev-parse", "--verify", f"{ref}^{{commit}}")
    if await commits_only_on(git, branch, [tip]):
        return False
    if f"branch {ref}" in (await git.run("worktree", "list", "--porcelain")).split("\n"):
        return False
    # Only if it still is where it was looked at: a commit made meanwhile must not go with it.
    # And only itself: a name can stand for another branch, which must stay.
    await git.run("update-ref", "--no-deref", "-d", ref, tip)
    return True


def _delete(path: Path) -> bool:
    """Whether there was something left to delete. A link is deleted, not followed."""
    if not os.path.lexists(path):
        return False
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
    return True
