"""What would be lost if a worktree were removed."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from robota.text.visible import single_line
from robota.workspace.git.run import Git, GitError, open_git

# Files in the git directory that show an operation in progress.
UNFINISHED: Final = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply")
STATUS: Final = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal")
GONE: Final = ("D ", " D")


class WorktreeState(msgspec.Struct, frozen=True, kw_only=True):
    """`files` are changed, missing, or new and not ignored, `missing` the missing ones. `branch_commits` are on
    its branch and `loose_commits` on no branch, and both nowhere else. `obstacle` says what else is in the way, or why
    nothing can be known."""

    files: int = 0
    missing: int = 0
    branch_commits: int = 0
    loose_commits: int = 0
    obstacle: str | None = None

    @property
    def nothing_to_lose(self) -> bool:
        return not (self.files or self.branch_commits or self.loose_commits or self.obstacle)

    @property
    def lacks_only_files(self) -> bool:
        """Whether missing files are the only difference."""
        return self.files == self.missing and not (self.branch_commits or self.loose_commits or self.obstacle)

    @property
    def words(self) -> str:
        result = []
        if self.files:
            result.append(_counted(self.files, "changed or new file"))
        if commits := self.branch_commits + self.loose_commits:
            result.append(f"{_counted(commits, 'commit')} that no other branch has")
        if self.obstacle:
            result.append(self.obstacle)
        return ", ".join(result) or "no changes"


async def inspect_worktree(main: Git, path: Path, branch: str | None, env: Mapping[str, str]) -> WorktreeState:
    """What only the worktree at `path` has. If that cannot be determined, it counts as something to lose."""
    try:
        git = await open_git(path, env)
        top = Path(await git.line("rev-parse", "--show-toplevel"))
        if top != path:
            return WorktreeState(obstacle="it is no longer a worktree of its own")
        own = path / await git.line("rev-parse", "--absolute-git-dir")
        entries = [entry for entry in (await git.run(*STATUS)).split("\0") if entry]
        head = await git.line("rev-parse", "--verify", "HEAD^{commit}")
        on_branch = await commits_only_on(main, branch, _ref(branch))
        all_commits = await commits_only_on(main, branch, [head, *_ref(branch)])
    except GitError as error:
        return WorktreeState(obstacle=f"git cannot look at it ({single_line(str(error), 200)})")
    return WorktreeState(
        files=len(entries),
        missing=sum(entry[:2] in GONE for entry in entries),
        branch_commits=on_branch,
        loose_commits=all_commits - on_branch,
        obstacle=_obstacle(own),
    )


async def commits_only_on(main: Git, branch: str | None, tips: Iterable[str]) -> int:
    """The number of commits of these tips that are in no other branch, tag or remote, nor in the current HEAD."""
    commits = list(tips)
    if not commits:
        return 0
    without = [] if branch is None else [f"--exclude={branch}"]
    elsewhere = ("--not", "HEAD", *without, "--branches", "--tags", "--remotes")
    return int(await main.line("rev-list", "--count", *commits, *elsewhere))


def _ref(branch: str | None) -> list[str]:
    return [] if branch is None else [f"refs/heads/{branch}"]


def _obstacle(git_directory: Path) -> str | None:
    begun = next((name for name in UNFINISHED if (git_directory / name).exists()), None)
    if begun is not None:
        return f"an unfinished git operation ({begun})"
    return "submodules that were set up in it" if (git_directory / "modules").exists() else None


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" + "s" * (number != 1)
