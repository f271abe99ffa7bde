"""Find what other programs obey in a workspace, to compare it before and after a command that nobody approved.

These are the names of `protected_names`, at any depth, with all that is in such a directory, and what links of such a
name lead to, repositories inside the workspace, and new directories of packages. Installed packages are not searched,
because such a command cannot write there, nor what tools generate, except for compiled Python: it runs instead of the
source that everybody looks at.

After a command, what could not be searched counts as obeyed: no limit lets anything past.
"""

import errno
import os
import stat
import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.files.confined_paths import DIRECTORY_FLAGS
from robota.workspace.files.owner_rights import open_step_by_step
from robota.workspace.files.package_directories import CACHES, OF_PACKAGES, VIRTUAL_ENVIRONMENT, holds_packages
from robota.workspace.obeyed.names import has_obeyed_name, may_hold_obeyed

GIT: Final = ".git"
OWN_DIRECTORY: Final = ".robota"
COMPILED_DIRECTORY, COMPILED = "__pycache__", ".pyc"
GENERATED: Final = (CACHES | {"build", "dist"}) - {COMPILED_DIRECTORY}
# A repository must have only this file where it is entered: its objects can lie elsewhere. And what makes a directory
# a virtual environment.
HEAD, HOOKS = "HEAD", "hooks"
OF_FILES: Final = frozenset({HEAD, VIRTUAL_ENVIRONMENT})
# What makes a directory with such a file one of git, and what git runs or obeys there.
OF_REPOSITORY: Final = frozenset({"config", "config.worktree", "commondir", HOOKS, "objects", "refs"})
# Kind and mode, size, modification and change time, inode.
Stamp = tuple[int, int, int, int, int]


class SurveyLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How far a survey goes. What is deeper would cost each search the whole way to it."""

    entries: int = 400_000
    seconds: float = 10.0
    depth: int = 100


# A command can create many files in a short time, and must not get anything past the search in this way.
AFTERWARDS: Final = SurveyLimits(entries=2_000_000, seconds=60.0)
# Of more directories that were not searched, those around them are taken; of far more without choosing.
MAX_UNSEARCHED: Final = 50
MAX_COMPARED: Final = 1_000


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What other programs obey, relative to the root, and the directories of installed packages.

    A repository inside the workspace counts as its `.git`. `compiled` are files that Python makes from source,
    `targets` the places that links lead to. `unsearched` are directories in which there may be more, and `problem` says
    why; without a `problem`, all was searched.
    """

    steering: Mapping[str, Stamp] = {}
    compiled: Mapping[str, Stamp] = {}
    packages: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    unsearched: tuple[str, ...] = ()
    problem: str = ""


def survey(root: Path, since: Survey | None = None, limits: SurveyLimits | None = None) -> Survey:
    """Look through the workspace, following no links but those to the `targets`.

    What was not among the packages and targets `since` an earlier survey is not taken for them now.
    """
    search = _Search(root, since, limits or (SurveyLimits() if since is None else AFTERWARDS))
    search.run()
    return Survey(
        steering=search.steering,
        compiled=search.compiled,
        packages=tuple(sorted(search.packages)),
        targets=search.targets,
        unsearched=_outermost(search.unsearched),
        problem=search.problem,
    )


def new_or_changed(before: Survey, after: Survey) -> tuple[str, ...]:
    """What is obeyed now, and was not there, or was different, and what could not be searched."""
    found = _new_or_changed(before.steering, after.steering)
    return (*(path for path in found if not _is_within(path, after.unsearched)), *after.unsearched)


def newly_compiled(before: Survey, after: Survey) -> tuple[str, ...]:
    """What Python would run now instead of the source, and would not have run before."""
    return _new_or_changed(before.compiled, after.compiled)


def remove_compiled(root: Path, paths: Iterable[str]) -> list[str]:
    """Remove such files; Python makes them again. Returns those that could not be removed."""
    return [path for path in paths if not _remove(os.fspath(root), path)]


def _new_or_changed(before: Mapping[str, Stamp], after: Mapping[str, Stamp]) -> tuple[str, ...]:
    return tuple(sorted(path for path, stamp in after.items() if before.get(path) != stamp))


def _outermost(directories: Iterable[str]) -> tuple[str, ...]:
    """The outermost of these directories; if they are too many, those with most of them, but never the workspace."""
    paths = {tuple(path.split("/")) for path in directories}
    while len(paths) > MAX_COMPARED and (deepest := max(map(len, paths))) > 1:
        paths = {path[:-1] if len(path) == deepest else path for path in paths}
    while len(paths) > MAX_UNSEARCHED:
        inside = Counter(path[:-1] for path in paths if len(path) > 1)
        if not inside:
            break
        [(fullest, _)] = inside.most_common(1)
        paths = {path for path in paths if path[: len(fullest)] != fullest} | {fullest}
    outermost = (path for path in paths if not any(path[:length] in paths for length in range(1, len(path))))
    return tuple(sorted("/".join(path) for path in outermost))


def _is_within(path: str, directories: Collection[str]) -> bool:
    return any(path.startswith(f"{directory}/") for directory in directories)


def _remove(root: str, path: str) -> bool:
    parent, _, name = path.rpartition("/")
    try:
        opened = open_step_by_step(root, parent)
        try:
            os.unlink(name, dir_fd=opened)
        finally:
            os.close(opened)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


class _LinkedPlace(msgspec.Struct, frozen=True):
    """Where a link leads to: to what is obeyed as a whole, or because the name of the link is that of its directory.

    Without either, to a directory that is not searched for its own name.
    """

    place: str
    is_obeyed: bool = False
    name: str | None = None


class _Search:
    def __init__(self, root: Path, since: Survey | None, limits: SurveyLimits) -> None:
        self._root = os.fspath(root)
        self._since = since
        self._limits = limits
        self._left, self._end = limits.entries, time.monotonic() + limits.seconds
        self.steering: dict[str, Stamp] = {}
        self.compiled: dict[str, Stamp] = {}
        self.packages: list[str] = []
        self._links: dict[_LinkedPlace, None] = {}
        for target in () if since is None else since.targets:
            self._links[_LinkedPlace(target, is_obeyed=True)] = None
        self.unsearched: list[str] = []
        self.problem = ""

    @property
    def targets(self) -> tuple[str, ...]:
        """What links lead to that are obeyed."""
        return tuple(link.place for link in self._links if link.is_obeyed)

    def run(self) -> None:
        self._look_through([("", False)])
        followed: set[_LinkedPlace] = set()
        while links := [link for link in self._links if link not in followed]:
            followed.update(links)
            for link in links:
                self._look_through(self._directories_of(link))

    def _directories_of(self, link: "_LinkedPlace") -> list[tuple[str, bool]]:
        """The directories that must be searched because a link leads there."""
        if link.name is not None:
            return self._obeyed_in(link.place, link.name)
        is_directory = not link.is_obeyed or self._is_directory_or_noted(link.place)
        return [(link.place, link.is_obeyed)] if is_directory else []

    def _look_through(self, directories: Iterable[tuple[str, bool]]) -> None:
        # What is near the top comes first: it was there before, rather than what a command has piled up.
        waiting = deque(directories)
        while waiting:
            directory, is_obeyed = waiting.popleft()
            if (problem := self._problem_with(directory)) is not None:
                self._leave_out(directory, problem)
                continue
            try:
                waiting += self._look(directory, is_obeyed)
            except FileNotFoundError:
                self.problem = "something in it was removed or moved at the same time"
            except OSError as error:
                self._leave_out(directory, f"not all of it can be read ({error.strerror})")

    def _obeyed_in(self, directory: str, name: str) -> list[tuple[str, bool]]:
        """Note what is obeyed in a directory because a link to it has this name; returns the directories of that."""
        try:
            return [each for each in self._look(directory, is_obeyed=False, name=name) if each[1]]
        except OSError as error:
            self._leave_out(directory, f"not all of it can be read ({error.strerror})")
            return []

    def _problem_with(self, directory: str) -> str | None:
        """Why the search goes no further here; None if it does."""
        if self._left < 0 or time.monotonic() > self._end:
            return "it is too large to look through it for files that other programs obey"
        if directory.count("/") >= self._limits.depth:
            return f"its directories are more than {self._limits.depth} deep"
        return None

    def _leave_out(self, directory: str, problem: str) -> None:
        self.problem = problem
        if directory:
            self.unsearched.append(directory)

    def _look(self, directory: str, is_obeyed: bool, name: str | None = None) -> list[tuple[str, bool]]:
        """Note what is in a directory; returns the directories in it that must be searched too.

        `name` is that of a link to it, if it is searched for that.

        It is searched also if a command closed it, or hid it behind a path that is too long. Before the command
        everything could be read, or it would not have run; so only what it did is undone.
        """
        try:
            opened = os.open(f"{self._root}/{directory}", DIRECTORY_FLAGS)
        except OSError as error:
            if self._since is None or error.errno not in (errno.EACCES, errno.ENAMETOOLONG):
                raise
            opened = open_step_by_step(self._root, directory)
        try:
            with os.scandir(opened) as scanned:
                entries = list(scanned)
            self._left -= len(entries) + 1
            parent = directory.rpartition("/")[2] if name is None else name
            return self._noted(directory, parent.casefold(), is_obeyed, entries)
        finally:
            os.close(opened)

    def _noted(
        self, directory: str, parent: str, is_obeyed: bool, entries: "Sequence[os.DirEntry[str]]"
    ) -> list[tuple[str, bool]]:
        of_git = OF_REPOSITORY if any(entry.name == HEAD for entry in entries) else frozenset()
        deeper: list[tuple[str, bool]] = []
        for entry in entries:
            path = f"{directory}/{entry.name}" if directory else entry.name
            is_directory = entry.is_dir(follow_symlinks=False)
            if not directory and entry.name in (GIT, OWN_DIRECTORY):
                continue
            obeyed = is_obeyed or has_obeyed_name(parent, entry.name.casefold()) or entry.name in OF_FILES | of_git
            if is_directory and self._holds_packages(path, entry):
                self.packages.append(path)
            elif entry.name == GIT or entry.name in OF_PACKAGES or (is_directory and entry.name in of_git - {HOOKS}):
                self._note(path, entry)
            elif is_directory and entry.name not in GENERATED:
                deeper.append((path, obeyed))
            elif obeyed and not is_directory:
                self._note(path, entry)
            elif entry.is_symlink():
                self._follow(path)
            elif not is_directory and (entry.name.endswith(COMPILED) or entry.name == COMPILED_DIRECTORY):
                self.compiled[path] = _stamp(entry.stat(follow_symlinks=False))
        return deeper

    def _holds_packages(self, path: str, entry: "os.DirEntry[str]") -> bool:
        """Those that were there before are read-only for the command; what it made itself is not hidden by a name."""
        if self._since is not None:
            return path in self._since.packages
        return holds_packages(f"{self._root}/{path}", entry.name)

    def _follow(self, link: str) -> None:
        """Search the directory that a link leads to, if it is left out for its name, or obeyed for that of the link."""
        place = self._place_of(link)
        if place is None or not os.path.isdir(f"{self._root}/{place}"):  # noqa: PTH112
            return
        if not GENERATED.isdisjoint(place.split("/")):
            self._links[_LinkedPlace(place)] = None
        if may_hold_obeyed(name := link.rpartition("/")[2].casefold()):
            self._links[_LinkedPlace(place, name=name)] = None

    def _place_of(self, link: str) -> str | None:
        """Where a link leads to in the workspace; None if that is elsewhere, or read-only for commands anyway."""
        root, target = os.path.realpath(self._root), os.path.realpath(f"{self._root}/{link}")
        if target != root and not target.startswith(f"{root}/"):
            return None
        place = target[len(root) + 1 :]
        return None if place.partition("/")[0] in (GIT, OWN_DIRECTORY) else place

    def _is_directory_or_noted(self, target: str) -> bool:
        """Whether the target of a link is a directory, which must be searched; a file is noted."""
        try:
            status = os.lstat(f"{self._root}/{target}")
        except OSError:
            return False
        if not stat.S_ISDIR(status.st_mode):
            self.steering[target] = _stamp(status)
        return stat.S_ISDIR(status.st_mode)

    def _note(self, path: str, entry: "os.DirEntry[str]") -> None:
        stamp = self.steering[path] = _stamp(entry.stat(follow_symlinks=False))
        is_new = self._since is not None and self._since.steering.get(path) != stamp
        if is_new or not entry.is_symlink() or not (place := self._place_of(path)):
            return
        if entry.name not in OF_PACKAGES:
            self._links[_LinkedPlace(place, is_obeyed=True)] = None
        elif self._since is None:
            self.packages.append(place)
        elif place not in self._since.packages:  # another link on the way to it was changed
            self.steering[place] = _stamp(Path(self._root, place).stat())


def _stamp(status: os.stat_result) -> Stamp:
    is_directory = stat.S_ISDIR(status.st_mode)  # whose times change with every commit in it
    times = (0, 0, 0) if is_directory else (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return (status.st_mode, *times, status.st_ino)
