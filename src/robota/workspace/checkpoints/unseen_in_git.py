"""What a command put into git's data that other programs obey, and that is not in the working tree like that.

Nobody sees it in the files, and whoever pushes the branch or switches to it makes others run it: a workflow that only
the commit contains, for example.
"""

import asyncio
import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.protocol.rewind import RefMove
from robota.workspace.git.git_directories import find_git_directories
from robota.workspace.git.index_gitlinks import UnreadableIndex, read_index
from robota.workspace.git.ref_moves import (
    BRANCH_OF_HEAD,
    HEAD,
    REVISION,
    STASH,
    GitNames,
    UnreadableNames,
    move_refs,
    read_git_names,
    ref_moves,
    reversed_moves,
)
from robota.workspace.git.run import Git, GitFailed, open_git
from robota.workspace.obeyed.names import has_obeyed_name

COMMITS: Final = (HEAD, "refs/heads/", "refs/tags/")
SHA1_DIGITS: Final = 40
MAX_FILE_BYTES: Final = 16 * 1024 * 1024


class GitSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Where the names of a repository point, and the objects of what is staged and obeyed."""

    top: Path
    names: GitNames
    staged: Mapping[str, str]


class UnseenChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The obeyed `paths`, those of them that are `staged`, and the moves of branches, tags and HEAD."""

    paths: tuple[str, ...] = ()
    staged: tuple[str, ...] = ()
    moves: tuple[RefMove, ...] = ()


def git_snapshot(root: Path) -> GitSnapshot | None:
    """The state now; None if there is no repository. Raises `UnreadableNames`."""
    directories, names = find_git_directories(root), read_git_names(root)
    if directories is None or names is None:
        return None
    try:
        return GitSnapshot(top=directories.top, names=names, staged=dict(_staged(directories.own / "index")))
    except (OSError, UnreadableIndex) as error:
        raise UnreadableNames(f"the index cannot be read ({error})") from error


async def take_back_unseen(root: Path, env: Mapping[str, str], before: GitSnapshot) -> UnseenChanges:
    """Take back what is unseen; its `moves` are those back. Raises `UnreadableNames` and `GitError`."""
    now = await asyncio.to_thread(git_snapshot, root)
    if now is None or now == before:
        return UnseenChanges()
    git = await open_git(root, env)
    unseen = await _unseen_changes(git, before, now)
    return await _take_back(git, unseen) if unseen.paths else unseen


async def _unseen_changes(git: Git, before: GitSnapshot, now: GitSnapshot) -> UnseenChanges:
    """What is obeyed, new in commits or staged, and different in the working tree. Raises `GitError`."""
    moves = tuple(move for move in ref_moves(before.names, now.names) if move.name != STASH)
    tips = _revisions(move.after for move in moves if move.name.startswith(COMMITS))
    touched = {tip: await _touched(git, tip, before.names) for tip in tips}
    staged = {path: blob for path, blob in now.staged.items() if before.staged.get(path) != blob}
    wanted = frozenset((*staged, *(path for paths in touched.values() for path in paths)))
    if not wanted:
        return UnseenChanges()
    known = set(before.staged.items())
    for tip in {*_head_of(before.names), *_revisions(move.before for move in moves)}:
        known |= (await _blobs(git, tip, wanted)).items()
    new = {entry for tip, paths in touched.items() for entry in (await _blobs(git, tip, paths)).items()} - known
    committed = [path for path, blob in sorted(new) if blob not in _blobs_of_file(now.top, path, blob)]
    known |= set() if committed else (await _blobs(git, HEAD, wanted)).items()
    unseen = [
        path
        for path, blob in staged.items()
        if (path, blob) not in known and blob not in _blobs_of_file(now.top, path, blob)
    ]
    paths = tuple(dict.fromkeys((*committed, *unseen)))
    return UnseenChanges(paths=paths, staged=tuple(unseen), moves=moves if committed else ())


async def _take_back(git: Git, unseen: UnseenChanges) -> UnseenChanges:
    """Let all names point to where they pointed before, and unstage. Returns the moves back. Raises `GitError`."""
    back = reversed_moves(unseen.moves)
    await move_refs(git, back)
    if unseen.staged:
        pathspecs = [f":(top,literal){path}" for path in unseen.staged]
        try:
            await git.run("reset", "--quiet", "--", *pathspecs)
        except GitFailed:  # there is no commit yet
            await git.run("rm", "--quiet", "--cached", "--force", "--ignore-unmatch", "--", *pathspecs)
    return msgspec.structs.replace(unseen, moves=back)


def _staged(index: Path) -> Iterator[tuple[str, str]]:
    try:
        data = index.read_bytes()
    except FileNotFoundError:
        return
    read = read_index(data)
    for entry in read.entries:
        path = os.fsdecode(entry.name)
        if _is_obeyed(path):
            yield path, data[entry.flags_at - read.hash_bytes : entry.flags_at].hex()


def _revisions(values: Iterable[str | None]) -> set[str]:
    return {value for value in values if value is not None and REVISION.fullmatch(value)}


def _head_of(names: GitNames) -> set[str]:
    head = names.get(HEAD, "")
    return _revisions((head, names.get(head.removeprefix(BRANCH_OF_HEAD))))


async def _touched(git: Git, tip: str, before: GitNames) -> list[str]:
    """The obeyed paths that commits touch which no name led to before."""
    known = (f"^{value}\n" for value in _revisions(before.values()))
    words = ("log", "--stdin", "-z", "--format=", "--name-only", "--no-renames", "-m", "--root")
    listed = await git.run(*words, stdin="".join((f"{tip}\n", *known)).encode())
    return sorted({path for path in listed.split("\0") if path and _is_obeyed(path)})


async def _blobs(git: Git, tip: str, paths: Collection[str]) -> dict[str, str]:
    """The objects at these paths in a commit; empty if there is none."""
    if not paths:
        return {}
    with suppress(GitFailed):
        listed = await git.run("ls-tree", "-r", "-z", "--full-tree", tip)
        entries = (entry.partition("\t") for entry in listed.split("\0") if entry)
        wanted = frozenset(paths)
        return {path: head.split(" ")[2] for head, _, path in entries if path in wanted}
    return {}


def _blobs_of_file(top: Path, path: str, like: str) -> tuple[str, ...]:
    """The objects that git could make of a file as it is, depending on what is set about line ends.

    `like` is another object, for the length of its name.
    """
    try:
        status = (top / path).lstat()
        if stat.S_ISLNK(status.st_mode):
            data = os.fsencode((top / path).readlink())
        elif stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE_BYTES:
            data = (top / path).read_bytes()
        else:
            return ()
    except OSError:
        return ()
    is_sha1 = len(like) == SHA1_DIGITS
    return tuple(_blob(each, is_sha1=is_sha1) for each in (data, data.replace(b"\r\n", b"\n")))


def _blob(data: bytes, *, is_sha1: bool) -> str:
    whole = b"blob %d\0" % len(data) + data
    digest = hashlib.sha1(whole, usedforsecurity=False) if is_sha1 else hashlib.sha256(whole)
    return digest.hexdigest()


def _is_obeyed(path: str) -> bool:
    parts = path.casefold().split("/")
    return any(has_obeyed_name(parent, name) for parent, name in zip(("", *parts), parts, strict=False))
