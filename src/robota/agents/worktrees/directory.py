"""The directory of a repository's worktrees, and the worktrees in it."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from robota.agents.worktrees.errors import WorktreeError
from robota.agents.worktrees.name import NAME
from robota.agents.worktrees.repository import Repository
from robota.config.paths import user_directory
from robota.config.trust.linked_worktree import proven_repository
from robota.log.store import fallback_directory, prepare_project_directory

WORKTREES: Final = Path(".robota/worktrees")
IGNORE_FILE: Final = ".gitignore"
IGNORE_EVERYTHING: Final = b"*\n"
NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def worktrees_of(top: Path) -> Path:
    """The directory that holds the worktrees of the repository at `top`."""
    return top / WORKTREES


def lies_in_worktree(path: Path, root: Path) -> bool:
    """Whether a path leads into a worktree of the project, even one that no longer exists.

    The path may come from a log, so it can contain `..` or a link that a repository planted.
    """
    return worktrees_of(root) in path.parents and os.path.realpath(path) == str(path)


def prepare_directory(repository: Repository) -> Path:
    """Create the directory for worktrees, hidden from git. Raises `WorktreeError`."""
    top = repository.top
    prepared = prepare_project_directory(top, fallback_directory(user_directory(repository.env), top))
    directory = worktrees_of(top)
    problem = prepared.reason
    try:
        if problem is None and directory.is_symlink():
            problem = f"{directory} is a symbolic link, which is not followed"
        if problem is None:
            directory.mkdir(mode=0o700, exist_ok=True)
            _hide_from_git(directory)
    except OSError as error:
        problem = f"{directory} cannot be created ({error.strerror})"
    if problem is not None:
        raise WorktreeError(f"There is no place for a worktree: {problem}. Nothing was changed. Start without -w.")
    return directory


def exists_at(path: Path) -> bool:
    """Whether the path exists, even as a broken link."""
    return os.path.lexists(path)


def is_worktree_of(repository: Repository, path: Path) -> bool:
    """Whether the directory, a real path, is a worktree of this repository according to both of them."""
    return not path.is_symlink() and path.is_dir() and proven_repository(path) == repository.common


async def known_names(repository: Repository) -> list[str]:
    """The names of the worktrees in our directory: those on disk, and those that only git still lists."""
    directory = worktrees_of(repository.top)
    names = {name for name in _entries(directory) if NAME.fullmatch(name)}
    for line in (await repository.git.run("worktree", "list", "--porcelain")).split("\n"):
        path = Path(line.removeprefix("worktree "))
        if line.startswith("worktree ") and path.parent == directory and NAME.fullmatch(path.name):
            names.add(path.name)
    return sorted(names)


def _hide_from_git(directory: Path) -> None:
    with suppress(FileExistsError), os.fdopen(os.open(directory / IGNORE_FILE, NEW, 0o600), "wb") as stream:
        stream.write(IGNORE_EVERYTHING)


def _entries(directory: Path) -> list[str]:
    try:
        return [] if directory.is_symlink() else [entry.name for entry in directory.iterdir()]
    except OSError:
        return []
