"""What an agent has changed in its worktree, brought together with the files as they are now. Nothing is written."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from robota.agents.worktrees.directory import is_worktree_of
from robota.agents.worktrees.errors import WorktreeError
from robota.agents.worktrees.files_tree import tree_of_files
from robota.agents.worktrees.repository import find_repository
from robota.config.trust.linked_worktree import same_place_in_main
from robota.log.kinds.agents import AgentWorktree
from robota.text.visible import single_line
from robota.workspace.files.confined_paths import directory_beneath, walk_to_directory
from robota.workspace.git.run import Git, GitError, GitFailed, open_git

ABSENT: Final = "000000"
PLAIN: Final = frozenset({"100644", "100755", ABSENT})
READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MAX_BYTES: Final = 8 * 1024 * 1024


class MergedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file: its content now, and with the changes of the agent. None: there is none."""

    path: str
    before: bytes | None
    after: bytes | None


class WorktreeMerge(msgspec.Struct, frozen=True, kw_only=True):
    """The files that would change, and those that cannot be brought in, each with the reason."""

    files: tuple[MergedFile, ...]
    left_out: tuple[str, ...] = ()


async def merge_of(facts: AgentWorktree, here: Path, env: Mapping[str, str]) -> WorktreeMerge:
    """What the agent changed since its worktree was made, on top of the files in `here`. Raises `WorktreeError`."""
    path = Path(facts.path)
    repository = await find_repository(same_place_in_main(here) or here, env)
    if not is_worktree_of(repository, path):
        raise WorktreeError(
            f"{single_line(facts.path, 4096)} is not a worktree of this repository, or no longer. Nothing was changed."
        )
    try:
        git, own = await open_git(path, env), await open_git(here, env)
        top = Path(await own.line("rev-parse", "--show-toplevel"))
        tree = await tree_of_files(git)
        listed = await git.run("diff-tree", "-r", "-z", "--no-renames", facts.base, tree)
        return await _merged(git, _Trees(facts.base, tree), list(_changed(listed)), here, here.relative_to(top))
    except GitError as error:
        raise WorktreeError(
            f"git cannot compare the worktree: {single_line(str(error), 500)}. Nothing was changed."
        ) from error


class _Trees(msgspec.Struct, frozen=True):
    base: str
    now: str


class _Changed(msgspec.Struct, frozen=True):
    path: str
    modes: tuple[str, str]


def _changed(listed: str) -> Iterator[_Changed]:
    fields = iter(listed.split("\0"))
    for about in fields:
        if about.startswith(":"):
            before, after, *_ = about[1:].split(" ")
            yield _Changed(next(fields), (before, after))


async def _merged(git: Git, trees: _Trees, changed: list[_Changed], here: Path, inside: Path) -> WorktreeMerge:
    files: list[MergedFile] = []
    left_out: list[str] = []
    for each in changed:
        shown = single_line(each.path, 500)
        if not Path(each.path).is_relative_to(inside):
            left_out.append(f"{shown}: outside this directory")
        elif not PLAIN.issuperset(each.modes):
            left_out.append(f"{shown}: not a plain file")
        elif ABSENT not in each.modes and each.modes[0] != each.modes[1]:
            left_out.append(f"{shown}: its mode has changed")
        else:
            path = str(Path(each.path).relative_to(inside))
            merged = await _one(git, trees, each, here, path)
            if isinstance(merged, str):
                left_out.append(f"{shown}: {merged}")
            elif merged.before != merged.after:
                files.append(merged)
    return WorktreeMerge(files=tuple(files), left_out=tuple(left_out))


async def _one(git: Git, trees: _Trees, changed: _Changed, here: Path, path: str) -> MergedFile | str:
    """One file, or why it cannot be brought in."""
    base = None if changed.modes[0] == ABSENT else await _content(git, trees.base, changed.path)
    theirs = None if changed.modes[1] == ABSENT else await _content(git, trees.now, changed.path)
    try:
        ours = _present(here, path)
    except OSError as error:
        return f"it cannot be read here ({error.strerror})"
    if ours in (base, theirs):
        return MergedFile(path=path, before=ours, after=theirs)
    if base is None or theirs is None or ours is None:
        return "it was changed here as well"
    combined = await _combined(git, ours, base, theirs)
    return (
        "it was changed here as well, in the same lines"
        if combined is None
        else MergedFile(path=path, before=ours, after=combined)
    )


async def _content(git: Git, tree: str, path: str) -> bytes:
    """The bytes that a checkout would write."""
    return os.fsencode(await git.run("cat-file", "--filters", f"{tree}:{path}"))


def _present(here: Path, path: str) -> bytes | None:
    """The file as it is now; no link is followed."""
    place = here / path
    try:
        with (
            directory_beneath(here, place.parent, walk_to_directory) as parent,
            os.fdopen(os.open(place.name, READ, dir_fd=parent), "rb") as stream,
        ):
            return stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None


async def _combined(git: Git, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Both changes of a file; None where they meet."""
    with TemporaryDirectory(prefix="robota-merge-") as scratch:
        names = []
        for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
            (Path(scratch) / name).write_bytes(data)
            names.append(str(Path(scratch) / name))
        try:
            return os.fsencode(await git.run("merge-file", "-p", *names))
        except GitFailed:  # the number of conflicts is the exit code
            return None
