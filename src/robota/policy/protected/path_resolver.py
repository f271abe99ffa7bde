"""Where things are: the workspace, the home directory, and what a path leads to."""

import posixpath
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from robota.policy.rules.path_match import beneath, directories_above, matches_pattern

GLOB_SIGNS: Final = frozenset("*?[")


def _as_written(path: str) -> str:
    return path


def _anything(directory: str, pattern: str) -> tuple[str, ...]:
    return ("/",)


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """`root` is the real path of the workspace.

    `real` says what an absolute path leads to when links are followed, and `matching` which files a pattern of the
    shell stands for in a directory; policy itself looks nothing up. Who cannot tell says that it may be anything.
    """

    root: Path
    home: Path | None = None
    real: Callable[[str], str] = _as_written
    matching: Callable[[str, str], tuple[str, ...]] = _anything

    def locations(self, word: str, directory: str = ".") -> tuple[str, ...]:
        """The absolute paths that a word of a command, run in that directory, could mean."""
        if word == "~" or word.startswith("~/"):
            word = posixpath.join(self._home, word[2:])
        start = posixpath.join(str(self.root), directory)
        joined = posixpath.join(start, word)
        written = posixpath.normpath(joined)
        named = self.matching(start, word) if GLOB_SIGNS.intersection(word) else ()
        # As written is not enough: behind a link `..` is the directory above the place it leads to.
        found = (written, self.real(written), self.real(joined), *map(self.real, named))
        return tuple(dict.fromkeys(map(posixpath.normpath, found)))

    def becomes_no_flag(self, pattern: str, directory: str) -> bool:
        """Whether no file that the pattern stands for there has a name that a program takes for a flag."""
        start = posixpath.join(str(self.root), directory)
        found = self.matching(start, pattern)
        return all(path.startswith(f"{start}/") and not path.startswith(f"{start}/-") for path in found)

    def may_be_directory(self, word: str, directory: str) -> bool:
        """Whether a word of a command, run in that directory, may name a directory."""
        return any(self.matching("/", f"{location}/.") for location in self.locations(word, directory))

    def inside(self, path: str) -> str | None:
        """The path as seen from the workspace; None if it leads out of it."""
        return beneath(self.root, path)

    def matches(self, path: str, pattern: str, *, broadly: bool) -> bool:
        """Whether a pattern of a rule names the path; `broadly` for denying: any depth, any case."""
        if pattern.startswith("//"):
            return matches_pattern(self._absolute(path), pattern[1:], ignore_case=broadly)
        if pattern.startswith("~/"):
            return matches_pattern(self._absolute(path), self._home + pattern[1:], ignore_case=broadly)
        place = self.inside(path)
        if place is None:
            return broadly and matches_pattern(self._absolute(path), "**/" + pattern, ignore_case=True)
        if matches_pattern(place, pattern, ignore_case=broadly):
            return True
        return broadly and not pattern.startswith("/") and matches_pattern(place, "**/" + pattern, ignore_case=True)

    def holds_matches(self, path: str, pattern: str, *, at_any_depth: bool) -> bool:
        """Whether the path is a directory all of whose files the pattern names; `at_any_depth`: some of them."""
        if self.inside(path) == ".":
            return False
        head, _, last = pattern.rpartition("/")
        names_all = last in {"*", "**"} and bool(head.strip("/~")) and self.matches(path, head, broadly=True)
        return names_all or (at_any_depth and any(self._is(path, above) for above in directories_above(pattern)))

    def _is(self, path: str, pattern: str) -> bool:
        """Whether the pattern names the path itself, and not only a directory that it lies in."""
        above = posixpath.dirname(path)
        return self.matches(path, pattern, broadly=True) and not self.matches(above, pattern, broadly=True)

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(str(self.root), path)).lstrip("/")

    @property
    def _home(self) -> str:
        # Without a home the shell leaves `~` to the password file, which is outside any workspace.
        return str(self.home or "/home")
