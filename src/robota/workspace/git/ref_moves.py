"""What a command changes in git's branches, tags, stash and HEAD, and how to move them back.

Objects are never deleted here, so a branch that a command deleted or moved is back as soon as its name points to the
same commit again. A name that something else has moved in the meantime stays where it is.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.protocol.rewind import RefMove
from robota.workspace.git.git_directories import GitDirectories, find_git_directories, read_small
from robota.workspace.git.run import Git, GitError, open_git

HEAD: Final = "HEAD"
STASH: Final = "refs/stash"
BRANCH_OF_HEAD: Final = "ref: "
REVISION: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
NAME: Final = re.compile(r"refs/[^\s:?*\\^~\x00-\x1f\x7f]+")
MAX_BYTES: Final = 8 * 1024 * 1024
MAX_LOOSE: Final = 20_000
# Replacements change what every other object means; commands cannot write them either.
NOT_NOTED: Final = ("refs/replace/", "refs/bisect/")
MOVED_SINCE: Final = "moved by something else since then"

# The value of each name: a revision, for HEAD perhaps `ref: NAME`, for the stash one line for each entry, newest last.
GitNames = Mapping[str, str]


class UnreadableNames(Exception):
    """The names of this repository cannot be read. The message says why."""


def read_git_names(root: Path) -> GitNames | None:
    """The branches, tags, stash entries and HEAD of the workspace's repository; None if it has none."""
    directories = find_git_directories(root)
    if directories is None:
        return None
    try:
        names = {**_packed(directories.common), **dict(_loose(directories.common))}
        names[HEAD] = read_small(directories.own / HEAD).strip()
        if STASH in names:
            names[STASH] = _stash(directories)
    except (OSError, ValueError) as error:
        raise UnreadableNames(f"the branches of the repository cannot be read ({error})") from error
    return names


def ref_moves(before: GitNames, after: GitNames) -> tuple[RefMove, ...]:
    """What differs."""
    return tuple(
        RefMove(name=name, before=before.get(name), after=after.get(name))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    )


def joined_moves(moves: Iterable[RefMove]) -> tuple[RefMove, ...]:
    """Several moves, in their order, as one for each name."""
    joined: dict[str, RefMove] = {}
    for move in moves:
        first = joined.get(move.name)
        joined[move.name] = move if first is None else msgspec.structs.replace(first, after=move.after)
    return tuple(move for move in joined.values() if move.before != move.after)


def reversed_moves(moves: Iterable[RefMove]) -> tuple[RefMove, ...]:
    """The moves that lead back."""
    return tuple(msgspec.structs.replace(move, before=move.after, after=move.before) for move in moves)


def possible_moves(names: GitNames, moves: Iterable[RefMove]) -> tuple[tuple[RefMove, ...], tuple[RefMove, ...]]:
    """The moves that can be made now, and those whose name is no longer where it was left."""
    asked = tuple(moves)
    return (
        tuple(move for move in asked if names.get(move.name) == move.before),
        tuple(move for move in asked if names.get(move.name) != move.before and names.get(move.name) != move.after),
    )


class RefMover(msgspec.Struct, frozen=True, kw_only=True):
    """Moves the names of the workspace's repository."""

    root: Path
    env: Mapping[str, str]

    def names(self) -> GitNames:
        """The names now; empty if there is no repository, or they cannot be read."""
        try:
            return read_git_names(self.root) or {}
        except UnreadableNames:
            return {}

    async def move(self, moves: Sequence[RefMove]) -> None:
        """Make the moves. Raises `GitError`."""
        await move_refs(await open_git(self.root, self.env), moves)


async def move_refs(git: Git, moves: Sequence[RefMove]) -> None:
    """Make the moves, the names of commits all at once or not at all. Raises `GitError`."""
    of_commits = [move for move in moves if move.name not in (HEAD, STASH)]
    if of_commits:
        lines = "".join(_instruction(move) for move in of_commits)
        await git.run("update-ref", "--stdin", "-z", stdin=os.fsencode(lines))
    for move in moves:
        if move.name == HEAD and move.after is not None:
            await _move_head(git, move.after)
        elif move.name == STASH:
            await _move_stash(git, move)
    if any(move.name == HEAD or move.name.startswith("refs/heads/") for move in moves):
        # What was staged belongs to another commit now. Files are not touched; an unborn branch has nothing to compare.
        with suppress(GitError):
            await git.run("reset", "--quiet", "--mixed")


def _instruction(move: RefMove) -> str:
    if move.after is None:
        return f"delete {move.name}\0{move.before}\0"
    if move.before is None:
        return f"create {move.name}\0{move.after}\0"
    return f"update {move.name}\0{move.after}\0{move.before}\0"


async def _move_head(git: Git, value: str) -> None:
    if value.startswith(BRANCH_OF_HEAD):
        await git.run("symbolic-ref", HEAD, value.removeprefix(BRANCH_OF_HEAD))
    else:
        await git.run("update-ref", "--no-deref", HEAD, value)


async def _move_stash(git: Git, move: RefMove) -> None:
    if move.before is not None:
        await git.run("stash", "clear")
    for line in (move.after or "").splitlines():
        revision, _, message = line.partition(" ")
        await git.run("stash", "store", "--quiet", "-m", message, revision)


def _packed(common: Path) -> dict[str, str]:
    try:
        text = _read_text(common / "packed-refs")
    except FileNotFoundError:
        return {}
    pairs = (line.partition(" ") for line in text.splitlines() if not line.startswith(("#", "^")))
    return {name: revision for revision, _, name in pairs if _is_noted(name) and REVISION.fullmatch(revision)}


def _loose(common: Path) -> Iterator[tuple[str, str]]:
    waiting, count = ["refs"], 0
    while waiting:
        directory = waiting.pop()
        with os.scandir(common / directory) as entries:
            for entry in entries:
                name, count = f"{directory}/{entry.name}", count + 1
                if count > MAX_LOOSE:
                    raise ValueError(f"more than {MAX_LOOSE:,} files")
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)
                elif entry.is_file(follow_symlinks=False) and _is_noted(name):
                    revision = read_small(Path(entry.path)).strip()
                    if REVISION.fullmatch(revision):
                        yield name, revision


def _is_noted(name: str) -> bool:
    return NAME.fullmatch(name) is not None and not name.startswith(NOT_NOTED) and not name.endswith(".lock")


def _stash(directories: GitDirectories) -> str:
    """The entries of the stash, oldest first: its log has a line `OLD NEW WHO WHEN<TAB>MESSAGE` for each."""
    lines = _read_text(directories.common / "logs" / STASH).splitlines()
    entries = (line.partition("\t") for line in lines)
    return "\n".join(f"{head.split(' ')[1]} {message}" for head, _, message in entries if " " in head)


def _read_text(file: Path) -> str:
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError(f"{file.name} is not a regular file")
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"{file.name} is too large")
    return data.decode("utf-8", "surrogateescape")
