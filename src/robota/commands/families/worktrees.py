"""The verbs of worktrees that were created for sessions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final

import msgspec

from robota.agents.worktrees.manage import FoundWorktree, list_worktrees, remove_worktree
from robota.app.hooks import workspace_hooks
from robota.commands.verb import FAILED, Answer, Family, NoArguments, ReadingVerb, Verb, always, table, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.contracts.hook import LifecycleHooks
from robota.text.visible import single_line
from robota.workspace.git.run import GitError

MAX_PATH: Final = 4096


class RemoveWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """A worktree to remove."""

    name: Annotated[str, Positional("NAME", "its name")]
    force: Annotated[bool, Option("remove it even with uncommitted changes")] = False


async def _list(host: VerbHost, _: NoArguments) -> Answer:
    worktrees = await list_worktrees(host.root, host.env)
    nothing = "There are no worktrees of sessions here."
    return table(
        ("NAME", "HAS", "BRANCH", "PATH"), map(_row, worktrees), list(map(_as_json, worktrees)), nothing=nothing
    )


async def _remove(host: VerbHost, args: RemoveWorktree) -> Answer:
    async with _lifecycle_hooks(host) as hooks:
        text = await remove_worktree(host.root, args.name, host.env, hooks, force=args.force)
    return told(text, {"name": args.name, "removed": True})


@asynccontextmanager
async def _lifecycle_hooks(host: VerbHost) -> AsyncIterator[LifecycleHooks | None]:
    """The user's hooks for events other than calls; None if there are none."""
    if host.opened is not None:
        yield host.opened.services.hooks.lifecycle  # the session closes them
        return
    hooks = workspace_hooks(host.root, host.env)
    try:
        yield hooks
    finally:
        if hooks is not None:
            await hooks.close()


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


FAMILY: Final = Family(
    name="worktree",
    about="Manage the worktrees created by sessions (robota -w).",
    description="list and remove worktrees created by sessions (-w)",
    default="list",
    problems=(GitError,),
    explain=always(FAILED),
    verbs=(
        ReadingVerb("list", "list worktrees, and what removing each would lose", NoArguments, _list),
        Verb("remove", "remove a worktree; commits are always kept", RemoveWorktree, _remove),
    ),
)
