"""Which files belong to an intent: patterns as in `.gitignore`, relative to the workspace."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from robota.workspace.files.gitignore import MAX_PATTERN_CHARACTERS, GitIgnore


class ScopeProblem(Exception):
    """A pattern cannot be used. The message says which and why."""


class Scope:
    """The files of an intent. Patterns cannot negate others and cannot leave the workspace."""

    def __init__(self, patterns: Sequence[str]) -> None:
        for pattern in patterns:
            _check(pattern)
        try:
            self._patterns = GitIgnore(patterns)
        except ValueError as problem:
            raise ScopeProblem(str(problem)) from problem

    def covers(self, path: str) -> bool:
        """Whether a path, relative to the workspace and without symlinks, is in scope. What is outside never is."""
        return not path.startswith(("/", "../")) and path != ".." and matches(self._patterns, path)


def matches(patterns: GitIgnore, path: str, *, is_directory: bool = False) -> bool:
    """Whether a path or one of its parent directories matches."""
    parts = PurePosixPath(path).parts
    return any(
        patterns.check(parts[:depth], is_directory=is_directory or depth < len(parts)) is True
        for depth in range(1, len(parts) + 1)
    )


def _check(pattern: str) -> None:
    if not pattern.strip() or len(pattern) > MAX_PATTERN_CHARACTERS or not pattern.isprintable():
        raise ScopeProblem("a pattern is empty, too long or has characters that cannot be seen")
    if pattern.startswith(("!", "#", "/", "~")) or ".." in PurePosixPath(pattern).parts or "\\" in pattern:
        raise ScopeProblem(f"{pattern} is not a plain pattern below the workspace")
