"""Find the repositories of a workspace and the directories that their indexes list as submodules.

Commands such as `git status` read these repositories and run programs that their configuration names. For a submodule
it is not enough that its `.git` is read-only: its directory could be moved away, and one that is still empty or missing
could be filled.
"""

import os
import re
import stat
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.files.path_status import Presence, presence_of
from robota.workspace.git.index_gitlinks import UnreadableIndex, read_gitlinks
from robota.workspace.sandbox.placeholders import is_placeholder
from robota.workspace.sandbox.resource_exhaustion import raise_if_exhausted

GIT: Final = ".git"
MAX_BYTES: Final = 64 * 1024
# Each costs a mount or two for every command; far beyond this, building the sandbox would take seconds.
MAX_SUBMODULES: Final = 200
WORKTREE_SETTING: Final = re.compile(r'(?im)^\s*worktree\s*=\s*"?([^"\n]+?)"?\s*$')


class SubmodulePlaces(msgspec.Struct, frozen=True, kw_only=True):
    """The paths to protect so that git finds the same in every submodule as before a command ran.

    `pinned` are writable but must not be moved, the outer ones first. `read_only` must not change. `kept_free` do not
    exist and must not be created. `unprotectable` says why that is not enough: then the whole workspace is read-only.
    """

    pinned: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    kept_free: tuple[Path, ...] = ()
    unprotectable: str = ""


def find_submodules(root: Path) -> SubmodulePlaces:
    """All directories that git reads as submodules of `root`, now or as soon as they have content."""
    search = _SubmoduleSearch(root)
    if (root / GIT).is_symlink():
        return SubmodulePlaces(unprotectable="'.git' is a link, which a command could replace")
    try:
        for directory in (root, *root.parents):
            if really_exists(directory / GIT):
                search.visit(directory)
                break
    except UnreadableIndex as problem:
        return SubmodulePlaces(unprotectable=str(problem))
    except OSError as error:  # such as a path that is too long for us, but not for git, which works inside it
        raise_if_exhausted(error)
        return SubmodulePlaces(unprotectable=f"a submodule cannot be looked at ({error.strerror})")
    if search.count > MAX_SUBMODULES:
        return SubmodulePlaces(unprotectable=f"there are more than {MAX_SUBMODULES} submodules")
    return SubmodulePlaces(
        pinned=tuple(search.pinned),
        read_only=tuple(search.read_only),
        kept_free=tuple(search.kept_free),
        unprotectable=search.unprotectable,
    )


def bare_repository_names(root: Path) -> tuple[Path, ...]:
    """Names that must not be created, or `root` itself could become a bare repository, which needs no `.git`.

    That takes HEAD, objects and refs, or HEAD and a commondir that points to the others. HEAD is also the name of a
    revision, so it is blocked only where there are refs already.
    """
    git = root / GIT
    if _is_file(git) or _is_file(git / "HEAD"):
        return ()  # git finds this repository first
    return (root / "commondir", root / ("HEAD" if really_exists(root / "refs") else "refs"))


def exists(path: Path) -> bool:
    """Whether it exists, following links."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def really_exists(path: Path) -> bool:
    """Whether it exists and is not a placeholder."""
    return exists(path) and not is_placeholder(path)


class _SubmoduleSearch:
    """Visits a repository, its submodules, and theirs."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.count = 0
        self.pinned: dict[Path, None] = {}
        self.read_only: dict[Path, None] = {}
        self.kept_free: dict[Path, None] = {}
        self.unprotectable = ""

    def visit(self, repository: Path) -> None:
        """Protect every submodule of the repository whose `.git` is in this directory."""
        git = repository / GIT
        directory = git if _is_directory(git) else next(iter(git_file_targets(git)), Path(os.path.realpath(git)))
        worktree = _worktree(directory, repository)
        for name in read_gitlinks(directory):
            submodule = worktree / name
            if ".." in submodule.parts or submodule == self._root or not submodule.is_relative_to(self._root):
                continue
            self.count += 1
            if self.count > MAX_SUBMODULES:
                return
            self._protect(submodule)

    def _protect(self, submodule: Path) -> None:
        way = [parent for parent in reversed(submodule.parents) if parent.is_relative_to(self._root)][1:]
        for each in (*way, submodule):
            if not _is_directory(each) or is_placeholder(each):
                self._protect_missing(each)
                return
            if each != submodule:
                self.pinned[each] = None
        git = submodule / GIT
        if git.is_symlink():
            self.read_only[submodule] = None  # nothing can be mounted on a link, so its directory must not change
        elif really_exists(git):
            self.pinned[submodule] = None
            self.read_only[git] = None
        elif _is_empty(submodule):
            self.read_only[submodule] = None
        else:
            self.pinned[submodule] = None
            self.kept_free[git] = None
        if really_exists(git):
            self.visit(submodule)

    def _protect_missing(self, submodule: Path) -> None:
        """Protect `submodule`, a submodule or one of its parents, which is not a directory."""
        if presence_of(submodule) is Presence.ABSENT or is_placeholder(submodule):
            self.kept_free[submodule] = None
        elif not submodule.is_symlink():
            self.read_only[submodule] = None
        elif submodule.parent == self._root:
            self.unprotectable = f"{submodule.name!r} is a link in place of a submodule"
        else:
            self.read_only[submodule.parent] = None


def _worktree(git_directory: Path, submodule: Path) -> Path:
    """The working tree of a repository: from its `core.worktree` setting, else the parent of its `.git`."""
    setting = WORKTREE_SETTING.search(_beginning(git_directory / "config"))
    return submodule if setting is None else Path(os.path.realpath(git_directory / setting[1]))


def git_file_targets(git: Path) -> tuple[Path, ...]:
    """The repository that the `.git` file of a worktree or submodule points to, and its common directory."""
    kind, _, target = _beginning(git).partition(":")
    if kind.strip() != "gitdir" or not target.strip():
        return ()
    directory = Path(os.path.realpath(git.parent / target.strip()))
    shared = Path(os.path.realpath(directory / _beginning(directory / "commondir").strip()))
    return directory, shared


def _beginning(file: Path) -> str:
    """The first 64 KiB of a file; empty if it is not a file or cannot be read."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:
        return ""
    except OSError as error:
        raise_if_exhausted(error)
        return ""
    try:
        return os.read(descriptor, MAX_BYTES).decode("utf-8", "replace").replace("\0", "")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _is_directory(path: Path) -> bool:
    """Whether it is a directory and not a link, which could point anywhere."""
    try:
        return stat.S_ISDIR(path.stat(follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat(follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False


def _is_empty(directory: Path) -> bool:
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is None
    except OSError:
        return False
