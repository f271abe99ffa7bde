"""Repositories in a workspace, and the places that git will look into because an index names them as submodules.

git looks into these whenever somebody looks at the workspace, and runs what their configuration names. For a submodule
it is not enough that its `.git` is read-only: the directory around it could be moved away, and one that is still empty
or missing could be filled.
"""

import os
import re
import stat
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.git.index_gitlinks import UnreadableIndex, read_gitlinks
from robota.workspace.sandbox.placeholders import is_placeholder
from robota.workspace.sandbox.shortage import raise_if_short

GIT: Final = ".git"
MAX_BYTES: Final = 64 * 1024
# Each costs a mount or two for every command; far beyond this, building the sandbox would take seconds.
MAX_SUBMODULES: Final = 200
WORKTREE_SETTING: Final = re.compile(r'(?im)^\s*worktree\s*=\s*"?([^"\n]+?)"?\s*$')


class SubmodulePlaces(msgspec.Struct, frozen=True, kw_only=True):
    """What must hold so that git finds in every submodule what it would have found before a command ran.

    `pinned` can be written to, but must stay where they are, the outer ones first. `read_only` must not change.
    `kept_free` do not exist and must not come into being. `unprotectable` says why that is not enough: then nothing of
    the workspace may be written.
    """

    pinned: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    kept_free: tuple[Path, ...] = ()
    unprotectable: str = ""


def find_submodules(root: Path) -> SubmodulePlaces:
    """All that git would look into, now or as soon as there is something in them, when somebody looks at `root`."""
    search = _SubmoduleSearch(root)
    if (root / GIT).is_symlink():
        return SubmodulePlaces(unprotectable="'.git' is a link, which a command could replace")
    try:
        for place in (root, *root.parents):
            if is_really_there(place / GIT):
                search.look_at(place)
                break
    except UnreadableIndex as problem:
        return SubmodulePlaces(unprotectable=str(problem))
    if search.count > MAX_SUBMODULES:
        return SubmodulePlaces(unprotectable=f"there are more than {MAX_SUBMODULES} submodules")
    return SubmodulePlaces(
        pinned=tuple(search.pinned),
        read_only=tuple(search.read_only),
        kept_free=tuple(search.kept_free),
        unprotectable=search.unprotectable,
    )


def bare_repository_names(root: Path) -> tuple[Path, ...]:
    """Names that must not come into being, or `root` itself could become a repository: git takes one without `.git`.

    It needs HEAD, objects and refs, or HEAD and a commondir that leads to the others. HEAD also is the name of a
    revision, so it is kept free only where there are refs already.
    """
    git = root / GIT
    if _is_file(git) or _is_file(git / "HEAD"):
        return ()  # git stops at this one
    return (root / "commondir", root / ("HEAD" if is_really_there(root / "refs") else "refs"))


def is_there(place: Path) -> bool:
    """Whether it leads to something that can be looked at, whatever kind of name it is."""
    try:
        place.stat()
    except (OSError, ValueError):
        return False
    return True


def is_really_there(place: Path) -> bool:
    """The same, but not for what only holds a name free while a command runs."""
    return is_there(place) and not is_placeholder(place)


class _SubmoduleSearch:
    """Goes from a repository to its submodules, and on to theirs."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.count = 0
        self.pinned: dict[Path, None] = {}
        self.read_only: dict[Path, None] = {}
        self.kept_free: dict[Path, None] = {}
        self.unprotectable = ""

    def look_at(self, repository: Path) -> None:
        """Every gitlink of the repository whose `.git` lies in that directory."""
        git = repository / GIT
        directory = git if _is_directory(git) else next(iter(led_to(git)), Path(os.path.realpath(git)))
        worktree = _worktree(directory, repository)
        for name in read_gitlinks(directory):
            place = worktree / name
            if ".." in place.parts or place == self._root or not place.is_relative_to(self._root):
                continue
            self.count += 1
            if self.count > MAX_SUBMODULES:
                return
            self._protect(place)

    def _protect(self, place: Path) -> None:
        way = [parent for parent in reversed(place.parents) if parent.is_relative_to(self._root)][1:]
        for each in (*way, place):
            if not _is_directory(each) or is_placeholder(each):
                self._protect_missing(each)
                return
            if each != place:
                self.pinned[each] = None
        git = place / GIT
        if git.is_symlink():
            self.read_only[place] = None  # nothing mounts on a link, so the directory around it must not change
        elif is_really_there(git):
            self.pinned[place] = None
            self.read_only[git] = None
        elif _is_empty(place):
            self.read_only[place] = None
        else:
            self.pinned[place] = None
            self.kept_free[git] = None
        if is_really_there(git):
            self.look_at(place)

    def _protect_missing(self, place: Path) -> None:
        """`place` is on the way to a submodule, or one itself, and is no directory."""
        if not os.path.lexists(place) or is_placeholder(place):
            self.kept_free[place] = None
        elif not place.is_symlink():
            self.read_only[place] = None
        elif place.parent == self._root:
            self.unprotectable = f"{place.name!r} is a link in place of a submodule"
        else:
            self.read_only[place.parent] = None


def _worktree(git_directory: Path, place: Path) -> Path:
    """Where the files of a repository are: where its settings say, else around its `.git`."""
    setting = WORKTREE_SETTING.search(_beginning(git_directory / "config"))
    return place if setting is None else Path(os.path.realpath(git_directory / setting[1]))


def led_to(git: Path) -> tuple[Path, ...]:
    """The repository that the `.git` file of a worktree or submodule names, and the one that this shares."""
    kind, _, target = _beginning(git).partition(":")
    if kind.strip() != "gitdir" or not target.strip():
        return ()
    directory = Path(os.path.realpath(git.parent / target.strip()))
    shared = Path(os.path.realpath(directory / _beginning(directory / "commondir").strip()))
    return directory, shared


def _beginning(file: Path) -> str:
    """Up to 64 KiB; nothing of what is no file, or cannot be read."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:
        return ""
    except OSError as error:
        raise_if_short(error)
        return ""
    try:
        return os.read(descriptor, MAX_BYTES).decode("utf-8", "replace").replace("\0", "")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _is_directory(place: Path) -> bool:
    """And no link to one, which could lead anywhere."""
    try:
        return stat.S_ISDIR(place.stat(follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False


def _is_file(place: Path) -> bool:
    try:
        return stat.S_ISREG(place.stat(follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False


def _is_empty(directory: Path) -> bool:
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is None
    except OSError:
        return False
