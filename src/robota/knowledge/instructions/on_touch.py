"""Finds instructions that apply to some files only: rules with `paths:`, and files in subdirectories."""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec

from robota.knowledge.front_matter import read_front_matter
from robota.knowledge.instructions.paths import Candidate, InstructionPaths, candidates, candidates_in
from robota.knowledge.instructions.reading import FileNotRead, decoded_text, read_in_project, read_user_file
from robota.workspace.files.gitignore import GitIgnore

MAX_GLOBS: Final = 100
_BETWEEN_GLOBS: Final = re.compile(r",(?![^{}]*\})")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")


class PathRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule for files that match its `globs`, which are relative to `base`."""

    candidate: Candidate
    base: Path
    globs: tuple[str, ...]

    def matches(self, file: Path) -> bool:
        """Whether a file, or a directory above it, matches."""
        try:
            parts = file.relative_to(self.base).parts
            patterns = GitIgnore(self.globs)
        except ValueError:
            return False
        ends = range(1, len(parts) + 1)
        return any(patterns.check(parts[:end], is_directory=end < len(parts)) for end in ends)


def path_rules(places: InstructionPaths, mode: str, workspace: Path) -> Iterator[PathRule]:
    """The rules with `paths:`, in prompt order."""
    for candidate in candidates(places, mode):
        if not candidate.is_rule:
            continue
        above = [directory for directory in places.project if candidate.path.is_relative_to(directory)]
        try:
            content = read_in_project(candidate.path, places.project[0]) if above else read_user_file(candidate.path)
            globs = _globs(read_front_matter(decoded_text(content)).fields.get("paths"))
        except FileNotRead:
            continue
        if globs:
            yield PathRule(candidate=candidate, base=above[-1] if above else workspace, globs=globs)


def nested_candidates(workspace: Path, file: Path, mode: str) -> Iterator[Candidate]:
    """The candidates in the directories between the workspace and a file."""
    for directory in directories_between(workspace, file):
        yield from candidates_in(directory, mode)


def directories_between(workspace: Path, file: Path) -> tuple[Path, ...]:
    """The directories below the workspace on the way to a path, outermost first; the path itself if it is one."""
    if not file.is_relative_to(workspace):
        return ()
    own = (file,) if file.is_dir() else ()
    above = [directory for directory in file.parents if directory != workspace and directory.is_relative_to(workspace)]
    return (*reversed(above), *(directory for directory in own if directory != workspace))


def workspace_path(workspace: Path, written: str) -> Path:
    """The absolute path for a path that the model wrote, without `..`."""
    return Path(os.path.normpath(workspace / written))


def _globs(value: Any) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else _BETWEEN_GLOBS.split(str(value or ""))
    globs = [glob for item in listed if isinstance(item, str) for glob in _expanded(item.strip().strip("\"'"))]
    return tuple(str(PurePosixPath(glob)) for glob in globs[:MAX_GLOBS] if glob)


def _expanded(glob: str) -> list[str]:
    """Expand braces: `*.{ts,tsx}` becomes two patterns."""
    done: list[str] = []
    todo = [glob]
    while todo and len(done) + len(todo) <= MAX_GLOBS:
        pattern = todo.pop()
        braces = _BRACES.search(pattern)
        if braces is None:
            done.append(pattern)
        else:
            todo += [pattern[: braces.start()] + choice + pattern[braces.end() :] for choice in braces[1].split(",")]
    return done
