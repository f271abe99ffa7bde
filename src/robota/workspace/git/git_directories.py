"""Where the git data of a workspace is: in its own `.git`, or, for a worktree, in the main repository's."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.files.path_status import may_be_present

GIT: Final = ".git"
GITDIR: Final = "gitdir:"
MAX_FILE_BYTES: Final = 64 * 1024
WORKTREES: Final = "worktrees"


class GitDirectories(msgspec.Struct, frozen=True, kw_only=True):
    """`own` holds HEAD and index of one working tree, `common` the objects and refs. Usually they are the same."""

    top: Path
    own: Path
    common: Path

    @property
    def is_worktree(self) -> bool:
        return self.own != self.common


def find_git_directories(root: Path) -> GitDirectories | None:
    """The git directories of the workspace at `root`, a real path; None unless they provably belong to it."""
    git = root / GIT
    try:
        if stat.S_ISDIR(git.lstat().st_mode):
            return None if may_be_present(git / "commondir") else GitDirectories(top=root, own=git, common=git)
        kind, _, target = read_small(git).partition(GITDIR)
        own = Path(target.strip())
        if kind or not own.is_absolute() or own != Path(os.path.realpath(own)):
            return None
        common = Path(os.path.realpath(own / read_small(own / "commondir").strip()))
        # The repository must know the worktree too: anyone can write a file that points to a repository.
        is_known = own.parent == common / WORKTREES and Path(read_small(own / "gitdir").strip()) == git
    except (OSError, ValueError):
        return None
    return GitDirectories(top=root, own=own, common=common) if is_known else None


def other_checkouts(root: Path) -> tuple[Path, ...]:
    """The other working trees of the repository whose working tree is at `root`, if both sides link to each other."""
    own = find_git_directories(root)
    if own is None:
        return ()
    tops = [own.common.parent]
    try:
        for entry in sorted((own.common / WORKTREES).iterdir()):
            with suppress(OSError, ValueError):
                tops.append(Path(read_small(entry / "gitdir").strip()).parent)
    except OSError:
        pass
    return tuple(top for top in tops if top != root and _is_checkout(top, own.common))


def _is_checkout(top: Path, common: Path) -> bool:
    if top != Path(os.path.realpath(top)):
        return False
    directories = find_git_directories(top)
    return directories is not None and directories.common == common


def read_small(file: Path) -> str:
    """The text of a regular file of at most 64 KiB; anything else is an error."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("not a regular file")
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ValueError("too long")
    return data.decode()
