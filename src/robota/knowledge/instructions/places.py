"""Where instruction files and rules may be, and in which order they are told: the general before the particular."""

import os
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

# In a directory of a project. What a tool calls "local" is not committed as a rule, and comes last.
FILES: Final = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md")
RULES: Final = (".robota/rules", ".claude/rules", ".roo/rules")
RULES_OF_MODE: Final = ".roo/rules-{mode}"
RULE_SUFFIXES: Final = (".md", ".txt")
MOST_RULES: Final = 200
DEEPEST: Final = 4


class InstructionScope(StrEnum):
    """Whose words they are."""

    USER = "user"
    PROJECT = "project"


class InstructionPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """The directories of a session. `project` are real paths, from the top of the repository to the workspace."""

    home: Path | None
    user_files: tuple[Path, ...] = ()
    user_rules: tuple[Path, ...] = ()
    project: tuple[Path, ...] = ()


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A file that would be told if it is there. A rule may be for some files only."""

    path: Path
    scope: InstructionScope
    is_rule: bool = False


def candidates(places: InstructionPlaces, mode: str) -> Iterator[Candidate]:
    """All of them, in their order; `mode` is the task mode."""
    for path in places.user_files:
        yield Candidate(path=path, scope=InstructionScope.USER)
    yield from _rules(places.user_rules, InstructionScope.USER)
    for directory in places.project:
        yield from candidates_in(directory, mode)


def candidates_in(directory: Path, mode: str) -> Iterator[Candidate]:
    """Those of one directory of a project."""
    for name in FILES:
        yield Candidate(path=directory / name, scope=InstructionScope.PROJECT)
    names = RULES if "/" in mode else (*RULES, RULES_OF_MODE.format(mode=mode))
    yield from _rules((directory / name for name in names), InstructionScope.PROJECT)


def _rules(directories: Iterable[Path], scope: InstructionScope) -> Iterator[Candidate]:
    for directory in directories:
        for path in islice(_rule_files(str(directory), DEEPEST), MOST_RULES):
            yield Candidate(path=Path(path), scope=scope, is_rule=True)


def _rule_files(directory: str, depth: int) -> Iterator[str]:
    """Files by name, those of a directory before those of the directories in it; no link to a directory is followed."""
    try:
        with os.scandir(directory) as listed:
            entries = sorted(islice(listed, 10 * MOST_RULES), key=lambda entry: entry.name)
    except OSError:
        return
    below: list[str] = []
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            below.append(entry.path)
        elif entry.name.endswith(RULE_SUFFIXES) and not entry.name.startswith("."):
            yield entry.path
    for path in below if depth > 0 else ():
        yield from _rule_files(path, depth - 1)
