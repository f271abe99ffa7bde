"""Other names of a place: a file that a link with the name of a protected one leads to is as protected as that."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from robota.workspace.obeyed.names import has_obeyed_name, may_hold_obeyed


class LinkedNames:
    """The links of a workspace that matter: those that git tracks, and those beside a place or above it."""

    def __init__(self, root: Path, tracked_links: Callable[[], Sequence[str]]) -> None:
        """`tracked_links` are the paths of the links in git's index."""
        self._root = os.fspath(root)
        self._tracked_links = tracked_links
        self._chosen: tuple[Sequence[str], tuple[str, ...]] = ((), ())

    def names_of(self, place: str) -> tuple[str, ...]:
        """The names under which links lead to a place. All paths are relative to the workspace."""
        root = os.path.realpath(self._root)
        links = dict.fromkeys((*self._tracked(), *self._beside(place)))
        return tuple(name for link in links if (name := self._name_by(link, f"{root}/{place}")) is not None)

    def _name_by(self, link: str, place: str) -> str | None:
        target = os.path.realpath(f"{self._root}/{link}")
        if place == target:
            return link
        return f"{link}{place[len(target) :]}" if place.startswith(f"{target}/") else None

    def _tracked(self) -> tuple[str, ...]:
        """Those whose names can make something obeyed: the others are too many in some repositories."""
        links = self._tracked_links()
        if links is not self._chosen[0]:
            self._chosen = (links, tuple(filter(_may_matter, links)))
        return self._chosen[1]

    def _beside(self, place: str) -> Iterator[str]:
        """The links in each directory from the root to the place."""
        for directory in PurePosixPath(place).parents:
            inside = "" if str(directory) == "." else f"{directory}/"
            with suppress(OSError), os.scandir(f"{self._root}/{inside}") as entries:
                yield from [f"{inside}{entry.name}" for entry in entries if entry.is_symlink()]


def _may_matter(link: str) -> bool:
    parent, _, name = link.casefold().rpartition("/")
    return has_obeyed_name(parent.rpartition("/")[2], name) or may_hold_obeyed(name)
