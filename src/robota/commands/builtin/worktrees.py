"""The verbs of worktrees that were created for sessions."""

from typing import Annotated, Any, Final

import msgspec

from robota.agents.worktrees.manage import FoundWorktree, list_worktrees, remove_worktree
from robota.commands.verb import Answer, Failure, Family, NoArguments, Option, Positional, Verb, table, told
from robota.commands.verb_host import VerbHost
from robota.text.visible import single_line
from robota.workspace.git.run import GitError

MAX_PATH: Final = 4096


class RemoveWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """A worktree to remove."""

    name: Annotated[str, Positional("NAME", "its name")]
    force: Annotated[bool, Option("remove it even with uncommitted changes")] = False


async def _list(host: VerbHost, _: NoArguments) -> Answer:
    found = await list_worktrees(host.root, host.env)
    nothing = "There are no worktrees of sessions here."
    return table(("NAME", "HAS", "BRANCH", "PATH"), map(_row, found), list(map(_as_json, found)), nothing=nothing)


async def _remove(host: VerbHost, wanted: RemoveWorktree) -> Answer:
    async with host.lifecycle_hooks() as hooks:
        text = await remove_worktree(host.root, wanted.name, host.env, hooks, force=wanted.force)
    return told(text, {"name": wanted.name, "removed": True})


def _row(worktree: FoundWorktree) -> tuple[str, ...]:
    has = "a session in it; " * worktree.in_use + worktree.state.words
    return (worktree.name, has, worktree.branch, single_line(str(worktree.path), MAX_PATH))


def _as_json(worktree: FoundWorktree) -> dict[str, Any]:
    return {
        "name": worktree.name,
        "path": str(worktree.path),
        "branch": worktree.branch,
        "inUse": worktree.in_use,
        "files": worktree.state.files,
        "commits": worktree.state.branch_commits + worktree.state.loose_commits,
        "obstacle": worktree.state.obstacle,
    }


def _explain(error: Exception) -> Failure:
    return Failure(str(error))


FAMILY: Final = Family(
    name="worktree",
    about="Manage the worktrees created by sessions (robota -w).",
    description="list and remove worktrees created by sessions (-w)",
    default="list",
    problems=(GitError,),
    explain=_explain,
    verbs=(
        Verb("list", "list worktrees, and what removing each would lose", NoArguments, _list),
        Verb("remove", "remove a worktree; commits are always kept", RemoveWorktree, _remove),
    ),
)
