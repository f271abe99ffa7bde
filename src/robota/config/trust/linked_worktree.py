"""Whether a directory lies in a worktree of a git repository, by proof from both sides.

A file `.git` can claim anything. The claim counts only if the repository itself knows the worktree: it names the very
directory, in its own place for worktrees. Links are not followed on the way.
"""

import os
import stat
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 16 * 1024
FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def same_place_in_main(directory: Path) -> Path | None:
    """The same directory in the main working tree of a worktree's repository; None without proof."""
    directory = directory.resolve()
    for top in (directory, *directory.parents):
        if os.path.lexists(top / ".git"):
            repository = proven_repository(top)
            if repository is None or repository.name != ".git":
                return None
            return repository.parent / directory.relative_to(top)
    return None


def proven_repository(top: Path) -> Path | None:
    """The git directory that lists `top`, a real path, as one of its worktrees; None if there is none."""
    try:
        own = _path_in(top / ".git", "gitdir: ")
        named_back = _path_in(own / "gitdir")
        common = _path_in(own / "commondir")
    except (OSError, ValueError):
        return None
    is_known = named_back == top / ".git" and own.parent == common / "worktrees"
    return common if is_known and common.is_dir() else None


def _path_in(file: Path, word: str = "") -> Path:
    """The real path that a small regular file contains, relative to the file."""
    with os.fdopen(os.open(file, FLAGS), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError("not a plain file")
        data = stream.read(MAX_BYTES + 1)
    text = os.fsdecode(data).removesuffix("\n")
    if len(data) > MAX_BYTES or not text.startswith(word) or "\0" in text:
        raise ValueError("not what git writes")
    return Path(os.path.realpath(file.parent / text.removeprefix(word)))
