"""Which parts of the home directory commands see: what programs need, read-only, and for each why.

Everything else in a home is hidden. An entry that is a link leads to its target, and the links on the way are kept.
"""

import os
import pwd
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.files.path_status import mode_of
from robota.workspace.sandbox.home.configuration_files import FileCopy, copied_configuration
from robota.workspace.sandbox.home.credential_places import IN_A_HOME, IN_A_TOOL, NAMED_BY_VARIABLES, TELLING_NAMES
from robota.workspace.sandbox.home.git_configuration import find_git_configuration
from robota.workspace.sandbox.home.mounted_twice import other_paths_of
from robota.workspace.sandbox.home.programs_on_path import (
    base_of_venv,
    installation,
    is_python_installation,
    programs_on_path,
)
from robota.workspace.sandbox.home.tool_places import CONFIGURATION_FILES, TOOL_PLACES, ToolPlace
from robota.workspace.sandbox.resource_exhaustion import raise_if_exhausted

# The homes of all accounts of this machine.
HOMES: Final = (Path("/home"), Path("/root"))
# Directories at the top of the file system that are never a home, even if a variable says so.
OF_THE_SYSTEM: Final = frozenset(
    {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "usr"}
)
NO_HOMES: Final = OF_THE_SYSTEM | {"opt", "srv", "var", "tmp", "mnt", "media", "nix", "snap"}
XDG: Final = {
    "DATA": ("XDG_DATA_HOME", ".local/share"),
    "CACHE": ("XDG_CACHE_HOME", ".cache"),
    "STATE": ("XDG_STATE_HOME", ".local/state"),
    "CONFIG": ("XDG_CONFIG_HOME", ".config"),
}
# Links on the way are kept there too: version managers put links for each shell into it.
RUNTIME: Final = Path("/run")
MAX_LINKS: Final = 40
OWN_PYTHON: Final = "Robota's own Python"
BY_THE_USER: Final = "named in sandbox.readable"
DEPTH_OF_LOOK: Final = 3
MAX_LOOKED_AT: Final = 20_000


class VisibleEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file or directory in a hidden area that commands see, and why. The path contains no link."""

    path: Path
    source: str


class KeptLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link in a hidden area on the way to something visible."""

    path: Path
    target: str


class RefusedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings name, but commands do not see; `reason` follows a colon."""

    named: str
    reason: str


class HomeAccess(msgspec.Struct, frozen=True, kw_only=True):
    """`areas` are hidden directories where only `visible`, `links` and `copies` appear.

    `hidden` are credentials that would be visible nevertheless, because they are next to something visible or outside
    the areas; they need not exist. `cache` is a directory that commands may write to, for themselves only.
    `git_settings` are the user's settings of git without credentials, where a file cannot be replaced by a copy.
    """

    areas: tuple[Path, ...] = ()
    visible: tuple[VisibleEntry, ...] = ()
    links: tuple[KeptLink, ...] = ()
    copies: tuple[FileCopy, ...] = ()
    hidden: tuple[Path, ...] = ()
    cache: Path | None = None
    git_settings: Mapping[str, str] = {}
    refused: tuple[RefusedEntry, ...] = ()

    def covers(self, path: Path) -> bool:
        """Whether a path, given without links, is hidden from commands."""
        if any(path.is_relative_to(each) for each in self.hidden):
            return True
        if not any(path.is_relative_to(area) for area in self.areas):
            return False
        return not any(path.is_relative_to(entry.path) for entry in self.visible)

    def readable(self) -> list[Path]:
        """What can be read in the areas, for a sandbox that can neither hide what is beneath it nor show copies."""
        whole = [copy.whole for copy in self.copies if copy.whole is not None]
        return [*whole, *(part for entry in self.visible for part in _without(entry.path, self.hidden))]


NO_HOME: Final = HomeAccess()


def find_home_access(
    root: Path, env: Mapping[str, str], *, home: Path | None, secrets: Sequence[Path] = (), readable: Sequence[str] = ()
) -> HomeAccess:
    """What commands in the workspace `root` see of the home. `secrets` are hidden as well; `readable` is a setting."""
    homes = tuple(dict.fromkeys(Path(os.path.realpath(each)) for each in (home, _home_of_account()) if each))
    if not homes:
        return HomeAccess(hidden=tuple(secrets))
    possible = [*_possible_areas(homes, env)]
    areas = _outermost([area for area in (*possible, *other_paths_of(possible)) if _can_be_hidden(area, root)])
    credentials = [*secrets, *_credentials(root, homes, env)]
    search = _Search(areas, root, credentials)
    for each in homes:
        _add_tools(search, each, env)
    _add_programs(search, env, root)
    refused = [*_add_readable(search, readable, homes[0])]
    names = (path for each in homes for name in CONFIGURATION_FILES for path in _below(each, name, env))
    git = find_git_configuration(root, homes[0], env)
    for named in git.named_files:
        search.add(named, "named in git's configuration")
    copies = [search.placed(copy) for copy in (*copied_configuration(dict.fromkeys(names)), *git.copies)]
    cache = next(_below(homes[0], "CACHE/.", env))
    return HomeAccess(
        areas=areas,
        visible=search.visible(),
        links=search.links(),
        copies=tuple({copy.path: copy for copy in copies if search.is_hidden(copy.path)}.values()),
        hidden=search.still_open(credentials),
        cache=cache if search.is_hidden(cache) else None,
        git_settings=git.settings,
        refused=tuple(refused),
    )


class _Search:
    """Collects entries and the links that lead to them."""

    def __init__(self, areas: tuple[Path, ...], root: Path, credentials: Sequence[Path]) -> None:
        self._areas = areas
        self._root = root
        self._credentials = frozenset((*credentials, *(Path(os.path.realpath(each)) for each in credentials)))
        self._sources: dict[Path, str] = {}
        self._links: dict[Path, str] = {}

    def in_workspace(self, path: Path) -> bool:
        return path.is_relative_to(self._root)

    def in_area(self, path: str) -> bool:
        return any(path.startswith(f"{area}/") for area in self._areas)

    def add(self, path: Path, source: str, shown: Callable[[Path], Path] = lambda real: real) -> Path | None:
        """Make what `path` leads to visible, or the directory around it that `shown` returns; returns that.

        Links in the workspace may have been made by a command, so they show only what cannot be anybody's documents:
        an installation of Python, as links in a virtual environment do.
        """
        followed = _follow(path)
        if followed is None or not mode_of(followed.path):
            return None
        real = shown(followed.path)
        if self.problem(real) is not None:
            return None
        if any(map(self.in_workspace, followed.links)) and not is_python_installation(real):
            return None
        kept = {link: target for link, target in followed.links.items() if self._is_kept(link)}
        self._links.update(kept)
        if self.in_area(str(real)):
            self._sources.setdefault(real, source)
        return real

    def placed(self, copy: FileCopy) -> FileCopy:
        """The copy where the links on the way to its path lead; the path itself may have been a link."""
        followed = _follow(copy.path.parent)
        if followed is None:
            return copy
        self._links.update({link: target for link, target in followed.links.items() if self._is_kept(link)})
        return msgspec.structs.replace(copy, path=followed.path / copy.path.name)

    def problem(self, real: Path) -> str | None:
        """Why a path cannot be visible; None if it can."""
        if any(area.is_relative_to(real) for area in self._areas):
            return "it is the home directory, or contains it"
        if not self._credentials.isdisjoint((real, *real.parents)):
            return "programs keep credentials there"
        return None

    def credentials_below(self, real: Path) -> Path | None:
        """A file with credentials below a directory, judging by names."""
        below = (each for each in self._credentials if each.is_relative_to(real) and mode_of(each))
        return next(below, None) or _telling_file(real)

    def is_hidden(self, path: Path) -> bool:
        """Whether a path in an area is beneath no entry and is not the workspace."""
        if not self.in_area(str(path)) or path.is_relative_to(self._root):
            return False
        return self._sources.keys().isdisjoint((path, *path.parents))

    def visible(self) -> tuple[VisibleEntry, ...]:
        outermost = [path for path in _outermost(self._sources) if not path.is_relative_to(self._root)]
        return tuple(VisibleEntry(path=path, source=self._sources[path]) for path in outermost)

    def links(self) -> tuple[KeptLink, ...]:
        kept = sorted(link for link in self._links if self.is_hidden(link) or link.is_relative_to(RUNTIME))
        return tuple(KeptLink(path=link, target=self._links[link]) for link in kept)

    def still_open(self, credentials: Sequence[Path]) -> tuple[Path, ...]:
        """The credentials that are in no area, or beneath an entry; not the workspace or what contains it."""
        real = dict.fromkeys(Path(os.path.realpath(each)) for each in credentials)
        return tuple(path for path in _outermost(real) if not self.is_hidden(path) and _can_be_masked(path, self._root))

    def _is_kept(self, link: Path) -> bool:
        return self.in_area(str(link)) or link.is_relative_to(RUNTIME)


class _Followed(msgspec.Struct, frozen=True):
    """Where a path leads, and the links on the way, each by its own real path."""

    path: Path
    links: dict[Path, str]


def _follow(path: Path) -> _Followed | None:
    """None if it does not exist, or leads in a circle."""
    links: dict[Path, str] = {}
    reached, todo = Path("/"), list(path.parts[1:])
    while todo:
        name = todo.pop(0)
        if name == "..":
            reached = reached.parent
            continue
        reached = reached / name
        try:
            target = str(reached.readlink())
        except FileNotFoundError:
            return None
        except OSError:
            continue  # no link
        if len(links) > MAX_LINKS:
            return None
        links[reached] = target
        reached = Path("/") if target.startswith("/") else reached.parent
        todo = [*(part for part in Path(target).parts if part != "/"), *todo]
    return _Followed(reached, links)


def _home_of_account() -> Path | None:
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None


def _possible_areas(homes: Sequence[Path], env: Mapping[str, str]) -> Iterator[Path]:
    yield from homes
    yield from (
        directory for directory in HOMES if os.access(directory, os.R_OK | os.X_OK) and any(directory.iterdir())
    )
    for variable, _ in XDG.values():
        value = env.get(variable, "")
        if value.startswith("/"):
            yield Path(os.path.realpath(value))


def _can_be_hidden(area: Path, root: Path) -> bool:
    """Whether an area is a directory that can be hidden: not part of the system, and not inside the workspace."""
    is_system = len(area.parts) < 2 or area.parts[1] in (NO_HOMES if len(area.parts) == 2 else OF_THE_SYSTEM)
    return stat.S_ISDIR(mode_of(area)) and not is_system and not area.is_relative_to(root)


def _can_be_masked(path: Path, root: Path) -> bool:
    is_above = root.is_relative_to(path)
    return len(path.parts) > 2 and not is_above and path.parts[1] not in {"proc", "sys", "dev"}


def _credentials(root: Path, homes: Sequence[Path], env: Mapping[str, str]) -> Iterator[Path]:
    for home in homes:
        yield from (path for name in IN_A_HOME for path in _below(home, _in_xdg(name), env))
    named = [path for variable in NAMED_BY_VARIABLES for path in _of_variable(variable, env)]
    for variable, names in IN_A_TOOL.items():
        named += (directory / name for directory in _of_variable(variable, env) for name in names)
    # What a variable puts into the workspace belongs to the workspace.
    yield from (path for path in named if not Path(os.path.realpath(path)).is_relative_to(root))


def _in_xdg(name: str) -> str:
    """The name relative to the directory that a variable can move."""
    for prefix, (_, default) in XDG.items():
        if name.startswith(f"{default}/"):
            return f"{prefix}{name.removeprefix(default)}"
    return name


def _below(home: Path, name: str, env: Mapping[str, str]) -> Iterator[Path]:
    """The paths that a name of the tables stands for: where a variable says, and below the home."""
    prefix, _, rest = name.partition("/")
    if prefix not in XDG:
        yield home / name
        return
    variable, default = XDG[prefix]
    if env.get(variable, "").startswith("/"):
        yield Path(env[variable], rest)
    yield home / default / rest


def _of_variable(variable: str, env: Mapping[str, str]) -> list[Path]:
    values = env.get(variable, "").removeprefix("FILE:").removeprefix("DIR:").split(os.pathsep) if variable else []
    return [Path(value) for value in values if value.startswith("/")]


def _add_tools(search: _Search, home: Path, env: Mapping[str, str]) -> None:
    for tool in TOOL_PLACES:
        for directory in _directories(tool, home, env):
            for part in tool.parts:
                search.add(directory / part, tool.source)


def _directories(tool: ToolPlace, home: Path, env: Mapping[str, str]) -> Iterator[Path]:
    yield from _of_variable(tool.variable, env)
    for default in tool.defaults:
        yield from _below(home, default, env)


def _add_programs(search: _Search, env: Mapping[str, str], root: Path) -> None:
    own = Path(os.path.realpath(sys.executable))
    if search.in_area(str(own)):
        search.add(own, OWN_PYTHON, installation)
    path = [Path(os.path.normpath(each)) for each in env.get("PATH", "").split(os.pathsep) if each.startswith("/")]

    def may_be_hidden(entry: str) -> bool:
        return search.in_area(entry) or entry.startswith(f"{RUNTIME}/")

    for program, source in programs_on_path(path, may_be_hidden, root):
        search.add(program, source)
        # The installation that a link leads to, and the one that the link itself is in, as in a virtual environment.
        for shown in (search.add(program, source, installation), search.add(installation(program), source)):
            base = None if shown is None else _base_of(search, shown)
            if base is not None:
                search.add(base / "python3", f"base of {shown}", installation)
                search.add(base, f"base of {shown}", installation)


def _base_of(search: _Search, environment: Path) -> Path | None:
    """Where the Python of a virtual environment is; a file of the workspace, which names it, may name anything."""
    base = base_of_venv(environment)
    if base is None or not search.in_workspace(environment):
        return base
    return base if is_python_installation(installation(base)) else None


def _add_readable(search: _Search, readable: Sequence[str], home: Path) -> Iterator[RefusedEntry]:
    """Add the entries of the setting; returns the refused ones."""
    for named in readable:
        path = home / named[2:] if named.startswith("~/") else Path(named)
        if not path.is_absolute():
            yield RefusedEntry(named=named, reason="it is neither an absolute path nor begins with ~/")
            continue
        real = Path(os.path.realpath(path))
        credential = search.credentials_below(real)
        problem = search.problem(real) or (
            f"it contains {str(credential)!r}, where credentials are kept" if credential else None
        )
        if problem is not None:
            yield RefusedEntry(named=named, reason=problem)
        elif search.add(path, BY_THE_USER) is None:
            yield RefusedEntry(named=named, reason="it does not exist")


def _telling_file(directory: Path) -> Path | None:
    """A file a few levels below, or at the path itself, whose name says that it holds credentials."""
    if directory.name in TELLING_NAMES:
        return directory
    level, left = [str(directory)], MAX_LOOKED_AT
    for _ in range(DEPTH_OF_LOOK):
        below: list[str] = []
        for each in level:
            try:
                with os.scandir(each) as scanned:
                    entries = list(scanned)
            except OSError as error:
                raise_if_exhausted(error)
                continue
            left -= len(entries)
            telling = next((entry.path for entry in entries if entry.name in TELLING_NAMES), None)
            if telling is not None or left < 0:
                return Path(telling or each)
            below += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        level = below
    return None


def _without(path: Path, hidden: Sequence[Path]) -> list[Path]:
    """The path, or everything in it except `hidden`."""
    beneath = [each for each in hidden if each.is_relative_to(path) and mode_of(each)]
    if not beneath:
        return [path]
    if path in beneath:
        return []
    with os.scandir(path) as entries:
        inside = [Path(entry.path) for entry in entries if not entry.is_symlink()]
    return [part for each in inside for part in _without(each, beneath)]


def _outermost(paths: "Sequence[Path] | dict[Path, str] | dict[Path, None]") -> tuple[Path, ...]:
    """The paths that are not beneath another."""
    kept: list[Path] = []
    for path in sorted(set(paths)):
        if not kept or not path.is_relative_to(kept[-1]):
            kept.append(path)
    return tuple(kept)
