"""Where things are: the workspace, the home directory, and what a path leads to."""

import posixpath
from collections.abc import Callable
from pathlib import Path

import msgspec

from robota.policy.paths import beneath, matches_pattern


def _as_written(path: str) -> str:
    return path


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """`root` is the real path of the workspace.

    `real` says what an absolute path leads to when links are followed; policy itself looks nothing up.
    """

    root: Path
    home: Path | None = None
    real: Callable[[str], str] = _as_written

    def locations(self, word: str, directory: str = ".") -> tuple[str, ...]:
        """The absolute paths that a word of a command, run in that directory, could mean."""
        if word == "~" or word.startswith("~/"):
            word = posixpath.join(self._home, word[2:])
        written = posixpath.normpath(posixpath.join(str(self.root), directory, word))
        return tuple(dict.fromkeys((written, self.real(written))))

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

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(str(self.root), path)).lstrip("/")

    @property
    def _home(self) -> str:
        # Without a home the shell leaves `~` to the password file, which is outside any workspace.
        return str(self.home or "/home")
