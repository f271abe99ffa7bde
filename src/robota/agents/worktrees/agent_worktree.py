"""Worktrees for agents: they start from the files of whoever starts them as these are, uncommitted ones included."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.agents.worktrees.creation import CHECKOUT_S, WorktreeRequest
from robota.agents.worktrees.directory import is_worktree_of
from robota.agents.worktrees.errors import WorktreeError
from robota.agents.worktrees.files_tree import tree_of_files
from robota.agents.worktrees.hooks import fire_removal_hooks
from robota.agents.worktrees.removal import remove_branch, remove_checkout
from robota.agents.worktrees.session import Worktree, enter_worktree, keep_worktree
from robota.agents.worktrees.state import inspect_worktree
from robota.config.trust.linked_worktree import same_place_in_main
from robota.contracts.hook import LifecycleHooks
from robota.log.kinds.agents import AgentWorktree
from robota.text.visible import single_line
from robota.workspace.git.run import Git, GitError, open_git

RANDOM_BYTES: Final = 4


class AgentsWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """The worktree of an agent that works now. `facts` are None if a hook made it: then nothing is known of it."""

    worktree: Worktree
    facts: AgentWorktree | None
    env: Mapping[str, str]
    hooks: LifecycleHooks | None

    @property
    def root(self) -> Path:
        return self.worktree.root


class LeftWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the worktree, in words, and its facts if it was kept."""

    words: str
    facts: AgentWorktree | None = None


async def enter_agents_worktree(
    request: WorktreeRequest, agent_id: str, earlier: AgentWorktree | None
) -> AgentsWorktree:
    """A worktree with the present files of the directory, or the `earlier` one as it was left. Raises `WorktreeError`.

    The directory may lie in a worktree itself: the new one belongs to the same repository.
    """
    here = request.cwd
    main = same_place_in_main(here) or here
    name = Path(earlier.path).name if earlier is not None else f"{agent_id}-{os.urandom(RANDOM_BYTES).hex()}"
    wanted = msgspec.structs.replace(request, cwd=main, name=name)
    try:
        git = await open_git(here, request.env)
        commit = await git.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except GitError:
        commit = None  # said below, in the words for it
    worktree = await enter_worktree(wanted, base=commit)
    if worktree.lock is None:
        return AgentsWorktree(worktree=worktree, facts=None, env=request.env, hooks=request.hooks)
    if earlier is not None and worktree.notices:
        return AgentsWorktree(worktree=worktree, facts=earlier, env=request.env, hooks=request.hooks)
    try:
        facts = await _with_present_files(git, worktree, commit or "", request.env)
    except GitError as error:
        keep_worktree(worktree)
        raise WorktreeError(
            f"The files of {single_line(str(here), 4096)} could not be brought to the worktree {worktree.name}: "
            f"{single_line(str(error), 500)}. The agent was not started. To remove what was made: robota worktree "
            f"remove {worktree.name} --force"
        ) from error
    return AgentsWorktree(worktree=worktree, facts=facts, env=request.env, hooks=request.hooks)


async def leave_agents_worktree(there: AgentsWorktree) -> LeftWorktree:
    """Remove the worktree if the agent has left nothing in it. Where that cannot be told, it is kept."""
    worktree, facts = there.worktree, there.facts
    if facts is None or worktree.repository is None:
        keep_worktree(worktree)
        return LeftWorktree(words=f"It worked in {single_line(str(worktree.path), 4096)}, which was kept.")
    is_gone = False
    try:
        kept = await _reason_to_keep(worktree, facts, there.env)
        if kept is None:
            messages = await fire_removal_hooks(there.hooks, worktree.path)
            if worktree.lock is not None:
                with suppress(OSError):  # On a full disk the mark cannot be written, but removing frees space.
                    worktree.lock.begin()
            await remove_checkout(worktree.repository, worktree.path)
            await remove_branch(worktree.repository, facts.branch)
            is_gone = not worktree.path.exists()
            return LeftWorktree(words=f"It changed nothing in its worktree, which was removed.{messages}")
    except (GitError, OSError) as error:
        kept = f"it could not be removed ({single_line(str(error), 200)})"
    finally:
        if worktree.lock is not None:
            worktree.lock.release(for_good=is_gone)
    return LeftWorktree(words=_kept_in_words(facts, kept), facts=facts)


async def _with_present_files(git: Git, worktree: Worktree, commit: str, env: Mapping[str, str]) -> AgentWorktree:
    """Bring the present files to the new worktree, where they are uncommitted, too."""
    top = Path(await git.line("rev-parse", "--show-toplevel"))
    tree = await tree_of_files(msgspec.structs.replace(git, directory=top))
    inner = await open_git(worktree.path, env)
    await inner.run("read-tree", "--reset", "-u", tree, timeout_s=CHECKOUT_S)
    await inner.run("reset", "--quiet", "--mixed", commit, timeout_s=CHECKOUT_S)
    # What git makes of the files again: with this they are compared in the end.
    base = await tree_of_files(inner)
    return AgentWorktree(path=str(worktree.path), branch=worktree.branch or "", base=base, commit=commit)


async def _reason_to_keep(worktree: Worktree, facts: AgentWorktree, env: Mapping[str, str]) -> str | None:
    """Why the worktree must stay; None if it is as the agent found it."""
    repository = worktree.repository
    assert repository is not None
    if not worktree.path.exists():
        return "its files are gone, and were removed by another program"
    if not is_worktree_of(repository, worktree.path):
        return "it is no longer a worktree of this repository"
    state = await inspect_worktree(repository.git, worktree.path, facts.branch, env)
    if state.obstacle:
        return state.obstacle
    inner = await open_git(worktree.path, env)
    if state.branch_commits or state.loose_commits or await inner.line("rev-parse", "HEAD") != facts.commit:
        return "it has commits"
    return None if await tree_of_files(inner) == facts.base else "it has changes"


def _kept_in_words(facts: AgentWorktree, why: str) -> str:
    return (
        f"Its worktree was kept, because {why}: {single_line(facts.path, 4096)}, branch {facts.branch}. The files here "
        "are as they were; the user can bring the changes in with /agent merge."
    )
