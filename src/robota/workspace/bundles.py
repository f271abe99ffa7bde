"""Compares the directories of skills and plugins with the content that the user approved."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.config.trust.sources import Snapshot, snapshot_of_tree
from robota.workspace.shell.first_line import MAX_SHEBANG_BYTES, shebang_words

CHANGED: Final = "its files have changed since you approved it"
CHANGED_MEANWHILE: Final = "its files have changed since this session first used it"
LEADS_OUT: Final = "a link in it leads to other files ({})"
NOT_STARTED: Final = "only you can start it, and you have not done so in this session"


class BundleMember(msgspec.Struct, frozen=True, kw_only=True):
    """A file or directory of a bundle. `owner` is the skill or plugin, `root` the real path of its directory.

    `problem` says why it is not approved as it is now; empty if it is. `first_line` are the words of the interpreter in
    the first line of a script.
    """

    owner: str
    root: Path
    problem: str = ""
    first_line: tuple[str, ...] = ()


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """The directory of a skill or plugin. `path` is where it was found, which may be a link.

    `pinned` are the digests of the approved files by their paths in it; None for the user's own, which are approved as
    they are when they are first used. `started_by` is the file of a skill that only the user may start.
    """

    owner: str
    path: Path
    pinned: Mapping[str, str] | None = None
    started_by: str = ""


class Bundles:
    """Finds the bundle of a file. Every answer compares the whole bundle: scripts load other files of it."""

    def __init__(self, places: Sequence[str], find: Callable[[], Sequence[Bundle]]) -> None:
        """`find` returns the bundles there are now; it is called for a path in one of the `places`."""
        self._places = tuple(places)
        self._find = find
        self._known: dict[str, Bundle] = {}
        self._seen: dict[str, str] = {}
        self._started: set[str] = set()

    def start(self, file: str) -> None:
        """Note that the user started the skill of this file."""
        self._started.add(file)

    def holding(self, location: str) -> BundleMember | None:
        """The bundle that a path is in, with all links followed."""
        if not location.startswith("/"):
            return None
        real = os.path.realpath(location)
        if any(_is_in(path, place) for path in (location, real) for place in self._places):
            self._known = {os.path.realpath(each.path): each for each in self._find()}
        root = next((each for each in self._known if _is_in(real, each)), None)
        if root is None:
            return None
        bundle = self._known[root]
        problem = self._problem(bundle, root)
        return BundleMember(owner=bundle.owner, root=Path(root), problem=problem, first_line=_first_line(real))

    def _problem(self, bundle: Bundle, root: str) -> str:
        if bundle.started_by and bundle.started_by not in self._started:
            return NOT_STARTED
        snapshot = snapshot_of_tree(Path(root))
        if snapshot.problem is not None:
            return snapshot.problem
        out = next((each for each in _links(snapshot) if not _is_in(os.path.realpath(f"{root}/{each}"), root)), None)
        if out is not None:
            return LEADS_OUT.format(out)
        if bundle.pinned is not None:
            return "" if bundle.pinned == {each.path: each.digest for each in snapshot.sources} else CHANGED
        return "" if self._seen.setdefault(root, snapshot.digest) == snapshot.digest else CHANGED_MEANWHILE


def _first_line(file: str) -> tuple[str, ...]:
    if not Path(file).is_file():
        return ()
    try:
        with Path(file).open("rb") as stream:
            return tuple(shebang_words(stream.read(MAX_SHEBANG_BYTES)))
    except OSError:
        return ()


def _links(snapshot: Snapshot) -> list[str]:
    return [source.path for source in snapshot.sources if source.is_link]


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")
