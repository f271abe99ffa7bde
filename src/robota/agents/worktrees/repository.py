"""The git repository of a worktree."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from robota.agents.worktrees.errors import WorktreeError
from robota.text.visible import single_line
from robota.workspace.git.run import Git, GitError, GitMissing, open_git

UNTOUCHED: Final = "Nothing was changed."


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """`top` is the main working tree, `common` its git directory, `inside` the user's directory relative to `top`.

    `git` runs at the top.
    """

    top: Path
    common: Path
    inside: Path
    git: Git
    env: Mapping[str, str]


async def find_repository(directory: Path, env: Mapping[str, str]) -> Repository:
    """The repository that contains a directory, which must be a real path. Raises `WorktreeError`."""
    try:
        git = await open_git(directory, env)
        top = Path(await git.line("rev-parse", "--show-toplevel"))
        own = directory / await git.line("rev-parse", "--absolute-git-dir")
        common = directory / await git.line("rev-parse", "--git-common-dir")
    except GitError as error:
        raise _no_repository(directory, error) from error
    common = common.resolve()
    if own.resolve() != common:
        main = common.parent
        raise WorktreeError(
            f"{single_line(str(directory), 4096)} is already in a worktree. {UNTOUCHED} "
            f"Work here without -w, or go to the repository it belongs to: {single_line(str(main), 4096)}"
        )
    at_top = msgspec.structs.replace(git, directory=top)
    if not directory.is_relative_to(top) or not await _is_top(at_top, common):
        raise WorktreeError(
            f"The configuration of the repository says that its files are in {single_line(str(top), 4096)}, which is "
            f"not its own place. {UNTOUCHED} Start without -w."
        )
    return Repository(top=top, common=common, inside=directory.relative_to(top), git=at_top, env=env)


async def base_commit(repository: Repository) -> str:
    """The commit that a new worktree starts from: the current one, on a branch or not."""
    try:
        base = await repository.git.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except GitError as error:
        raise WorktreeError(
            f"{repository.top} has no commit yet, so there is nothing to make a worktree of. {UNTOUCHED} "
            "Make a first commit and try again."
        ) from error
    inside = repository.inside.as_posix()
    if inside != "." and not await repository.git.agrees("cat-file", "-e", f"{base}:{inside}"):
        raise WorktreeError(
            f"{single_line(inside, 4096)} is not in the last commit, so a worktree would not have it. {UNTOUCHED} "
            f"Commit something in it, or start in {repository.top}."
        )
    return base


async def _is_top(git: Git, common: Path) -> bool:
    """Whether git finds the same repository from `top`: `core.worktree` could name any directory."""
    try:
        return (git.directory / await git.line("rev-parse", "--git-common-dir")).resolve() == common
    except GitError:
        return False


def _no_repository(directory: Path, error: GitError) -> WorktreeError:
    shown = single_line(str(directory), 4096)
    if isinstance(error, GitMissing):
        return WorktreeError(f"{error}, and a worktree needs it. {UNTOUCHED} Install git, or start without -w.")
    message = str(error)
    if "not a git repository" in message:
        return WorktreeError(f"{shown} is not in a git repository. {UNTOUCHED} Start without -w, or git init first.")
    if "work tree" in message or "bare repository" in message:
        return WorktreeError(
            f"{shown} is a bare repository, or the inside of one; it has no files to work on. {UNTOUCHED} "
            "Start in a clone of it."
        )
    return WorktreeError(f"git cannot work in {shown}: {single_line(message, 500)} {UNTOUCHED}")
