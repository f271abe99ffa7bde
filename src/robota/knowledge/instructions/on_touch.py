"""Instructions for some files only: rules with `paths:`, and the files of directories below the workspace."""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec

from robota.knowledge.front_matter import read_front_matter
from robota.knowledge.instructions.places import Candidate, InstructionPlaces, candidates, candidates_in
from robota.knowledge.instructions.reading import FileNotRead, read_in_project, read_of_person, text_of
from robota.workspace.files.gitignore import GitIgnore

MOST_GLOBS: Final = 100
_BETWEEN_GLOBS: Final = re.compile(r",(?![^{}]*\})")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")


class PathRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that is told when a file is touched that its patterns fit. They count from `base`."""

    candidate: Candidate
    base: Path
    globs: tuple[str, ...]

    def fits(self, file: Path) -> bool:
        """Whether a file, or a directory it lies in, is meant."""
        try:
            parts = file.relative_to(self.base).parts
            patterns = GitIgnore(self.globs)
        except ValueError:
            return False
        ends = range(1, len(parts) + 1)
        return any(patterns.check(parts[:end], is_directory=end < len(parts)) for end in ends)


def path_rules(places: InstructionPlaces, mode: str, workspace: Path) -> Iterator[PathRule]:
    """The rules for some files only, in their order."""
    for candidate in candidates(places, mode):
        if not candidate.is_rule:
            continue
        above = [directory for directory in places.project if candidate.path.is_relative_to(directory)]
        try:
            content = read_in_project(candidate.path, places.project[0]) if above else read_of_person(candidate.path)
            globs = _globs(read_front_matter(text_of(content)).fields.get("paths"))
        except FileNotRead:
            continue
        if globs:
            yield PathRule(candidate=candidate, base=above[-1] if above else workspace, globs=globs)


def nested_candidates(workspace: Path, file: Path, mode: str) -> Iterator[Candidate]:
    """The instruction files and rules of the directories between the workspace and a file."""
    for directory in directories_between(workspace, file):
        yield from candidates_in(directory, mode)


def directories_between(workspace: Path, file: Path) -> tuple[Path, ...]:
    """The directories below the workspace that lead to a file, or to and with a directory; outermost first."""
    if not file.is_relative_to(workspace):
        return ()
    own = (file,) if file.is_dir() else ()
    above = [each for each in file.parents if each != workspace and each.is_relative_to(workspace)]
    return (*reversed(above), *(each for each in own if each != workspace))


def place_of(workspace: Path, written: str) -> Path:
    """A path as a model writes it, without `..` and from the workspace on."""
    return Path(os.path.normpath(workspace / written))


def _globs(value: Any) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else _BETWEEN_GLOBS.split(str(value or ""))
    found = [glob for each in listed if isinstance(each, str) for glob in _expanded(each.strip().strip("\"'"))]
    return tuple(str(PurePosixPath(glob)) for glob in found[:MOST_GLOBS] if glob)


def _expanded(glob: str) -> list[str]:
    """`*.{ts,tsx}` as one pattern each."""
    done: list[str] = []
    todo = [glob]
    while todo and len(done) + len(todo) <= MOST_GLOBS:
        each = todo.pop()
        braces = _BRACES.search(each)
        if braces is None:
            done.append(each)
        else:
            todo += [each[: braces.start()] + choice + each[braces.end() :] for choice in braces[1].split(",")]
    return done
