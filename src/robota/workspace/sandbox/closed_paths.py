"""Find the existing files and directories of a workspace that make other programs run something: closed to commands.

These are repositories with the target of their `.git`, and files that steer other programs, at any depth, with what
links of such a name lead to. In directories that tools generate only repositories count. What could not be searched is
closed as a whole.
"""

import errno
import fnmatch
import os
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.files.protected_names import Guard, names_guarded_by
from robota.workspace.sandbox.placeholders import is_placeholder
from robota.workspace.sandbox.repositories import GIT, git_file_targets, really_exists
from robota.workspace.sandbox.resource_exhaustion import raise_if_exhausted

# Large directories that tools generate and can generate again; packages in them bring their own protected names.
MADE_BY_TOOLS: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__", "target", "build", "dist", ".tox"})
PROTECTED: Final = frozenset(names_guarded_by(Guard.READ_ONLY)) - {GIT}
PROTECTED_PATHS: Final = tuple(sorted(name for name in PROTECTED if "/" in name))
PROTECTED_GLOBS: Final = re.compile("|".join(fnmatch.translate(name) for name in sorted(PROTECTED) if "*" in name))
# Nearly all names are neither; a regular expression for each would take longer than everything else.
LOWERED: Final = {name.lower(): name for name in PROTECTED if "*" not in name}
GLOB_BEGINNINGS: Final = tuple(name.partition("*")[0] for name in PROTECTED if "*" in name and not name.startswith("*"))
GLOB_ENDS: Final = tuple(name.rpartition("*")[2] for name in PROTECTED if name.startswith("*"))
BARE_REPOSITORY: Final = frozenset({"HEAD", "objects", "refs"})
MAX_NAMED: Final = 3
MAX_SINGLE: Final = 4


class SearchLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How far the search goes. 300,000 entries take less than a second; each mount costs every command 0.1 to 1 ms."""

    entries: int = 1_000_000
    seconds: float = 20.0
    mounts: int = 400


class ClosedPaths(msgspec.Struct, frozen=True, kw_only=True):
    """`paths` must not change. `notes` say which paths are closed only because of a limit.

    `unprotectable` says why that is not enough, so that the whole workspace must not change.
    """

    paths: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    unprotectable: str = ""


def find_closed_paths(root: Path, limits: SearchLimits | None = None) -> ClosedPaths:
    """What makes other programs run something, and what could not be searched for it."""
    limits = limits or SearchLimits()
    search = _Search(root, limits)
    search.run()
    if root in search.unsearched:
        return ClosedPaths(unprotectable=search.limit)
    notes: list[str] = []
    if search.unsearched:
        notes.append(f"{search.limit}, so {_names_and_verb(search.unsearched, root)} read-only for commands")
    paths = {*search.found, *search.unsearched}
    fitted = fit_into(paths, root, limits.mounts)
    if root in paths:
        return ClosedPaths(unprotectable="a link whose name other programs obey leads to all of it")
    if root in fitted:
        return ClosedPaths(unprotectable=f"there are more than {limits.mounts} places to protect in it")
    if joined := fitted - paths:
        reason = f"there are more than {limits.mounts} places to protect in the workspace"
        notes.append(f"{reason}, so {_names_and_verb(joined, root)} read-only for commands")
    return ClosedPaths(paths=tuple(sorted(fitted)), notes=tuple(notes))


def fit_into(paths: Collection[Path], root: Path, max_mounts: int) -> set[Path]:
    """The paths, with directories instead of what is in them until no more than that many mounts are needed.

    Each path needs a mount, and each directory on the way to it. The directory with the most paths in it is taken
    first; `root` itself if no other is left.
    """
    fitted = _outermost(paths)
    while len(fitted) > MAX_SINGLE * max_mounts and root not in fitted:  # far too many to choose one by one
        deepest = max(len(path.parts) for path in fitted)
        fitted = {path.parent if len(path.parts) == deepest else path for path in fitted}
    while len(fitted) + len(_ways(fitted, root)) > max_mounts and root not in fitted:
        direct = Counter(path.parent for path in fitted)
        parents = (parent for parent in direct if parent != root)
        above = max(parents, key=lambda parent: (direct[parent], len(parent.parts)), default=root)
        fitted = {path for path in fitted if above not in path.parents} | {above}
    return fitted


def _ways(paths: Iterable[Path], root: Path) -> set[Path]:
    return {parent for path in paths for parent in path.parents if root in parent.parents}


def _outermost(paths: Collection[Path]) -> set[Path]:
    distinct = set(paths)
    return {path for path in distinct if distinct.isdisjoint(path.parents)}


def _names_and_verb(paths: Collection[Path], root: Path) -> str:
    shown = ", ".join(repr(str(path.relative_to(root))) for path in sorted(paths)[:MAX_NAMED])
    if len(paths) == 1:
        return f"{shown} is"
    return f"{shown} are" if len(paths) <= MAX_NAMED else f"{shown} and {len(paths) - MAX_NAMED} more are"


class _Search:
    """Walks the tree below `root`, what tools generated last."""

    def __init__(self, root: Path, limits: SearchLimits) -> None:
        self._root, self._real_root = root, Path(os.path.realpath(root))
        self._entries, self._end = limits.entries, time.monotonic() + limits.seconds
        self.found: dict[Path, None] = {}
        self.unsearched: set[Path] = set()
        self.limit = ""
        self._limits = limits

    def run(self) -> None:
        """Search until the end or a limit."""
        for name in PROTECTED_PATHS:
            self._add_target(str(self._root / name))
        waiting, generated = [str(self._root)], list[str]()
        while waiting or generated:
            directory, is_generated = (waiting.pop(), False) if waiting else (generated.pop(), True)
            if self._is_over():
                self.unsearched.update(map(Path, (directory, *waiting, *generated)))
                return
            for entry in self._entries_of(directory, is_generated=is_generated):
                later = is_generated or entry.name in MADE_BY_TOOLS
                (generated if later else waiting).append(entry.path)

    def _is_over(self) -> bool:
        if self._entries < 0:
            self.limit = f"it has more than {self._limits.entries:,} entries"
        elif time.monotonic() > self._end:
            self.limit = f"searching it for files to protect took longer than {self._limits.seconds:g} seconds"
        return bool(self.limit)

    def _entries_of(self, directory: str, *, is_generated: bool) -> "list[os.DirEntry[str]]":
        """Look at a directory; returns those in it that must be searched too."""
        try:
            with os.scandir(directory) as scanned:
                entries = list(scanned)
        except OSError as error:
            raise_if_exhausted(error)
            self._note_unreadable(directory, error)
            return []
        self._entries -= len(entries) + 1
        names = {entry.name for entry in entries}
        if directory != str(self._root) and names >= BARE_REPOSITORY:
            self.found[Path(directory)] = None
            return []
        if GIT in names or directory == str(self._root):
            self._add_repository(directory)
        deeper: list[os.DirEntry[str]] = []
        for entry in entries:
            if not is_generated and _steers(entry):
                self._add_target(entry.path)
            elif entry.is_dir(follow_symlinks=False) and entry.name != GIT:
                deeper.append(entry)
        return deeper

    def _add_target(self, path: str) -> None:
        """Add what is at a path. Nothing can be mounted on a link, so its target is added if that is in the workspace.

        A link to a directory around it would close everything in that.
        """
        target = Path(os.path.realpath(path))
        if target.is_relative_to(self._real_root) and really_exists(target):
            place = target.relative_to(self._real_root)
            if GIT not in place.parts:  # closed as a whole
                self.found[self._root / place] = None

    def _note_unreadable(self, directory: str, error: OSError) -> None:
        """Its owner could make it readable again, so it is closed, unless it is gone."""
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            self.found[Path(directory)] = None

    def _add_repository(self, directory: str) -> None:
        if not os.access(directory, os.X_OK):  # it can be listed, but what is in it cannot be looked at
            self.found[Path(directory)] = None
            return
        git = Path(directory, GIT)
        git_paths = (*(() if directory == str(self._root) else (git,)), *git_file_targets(git))
        inside = (path for path in git_paths if self._real_root in path.parents)
        self.found.update(dict.fromkeys(path for path in inside if really_exists(path)))


def _steers(entry: "os.DirEntry[str]") -> bool:
    name = entry.name
    lowered = name.lower()
    if lowered in LOWERED:
        is_named = name in PROTECTED or _is_also(entry, LOWERED[lowered])
    elif name.startswith(GLOB_BEGINNINGS) or name.endswith(GLOB_ENDS):
        is_named = PROTECTED_GLOBS.fullmatch(name) is not None
    else:
        return False
    return is_named and not is_placeholder(Path(entry.path))


def _is_also(entry: "os.DirEntry[str]", name: str) -> bool:
    """Whether the file system, which may ignore case, finds this entry under that name too."""
    try:
        return Path(entry.path).with_name(name).samefile(entry.path)
    except OSError:
        return False
