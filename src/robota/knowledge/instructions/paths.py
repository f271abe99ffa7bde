"""Lists the paths where instruction files and rules may be, in prompt order: from general to specific."""

import os
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

# Names in each directory of a project. "Local" files are usually not committed, and come last.
INSTRUCTION_FILES: Final = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md")
RULE_DIRECTORIES: Final = (".robota/rules", ".claude/rules", ".roo/rules")
MODE_RULE_DIRECTORY: Final = ".roo/rules-{mode}"
RULE_SUFFIXES: Final = (".md", ".txt")
MAX_RULES: Final = 200
MAX_DEPTH: Final = 4


class InstructionScope(StrEnum):
    """Whether a file belongs to the user or to the project."""

    USER = "user"
    PROJECT = "project"


class InstructionPaths(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session looks for instructions.

    `project` holds the real paths of the directories from the top of the repository down to the workspace.
    """

    home: Path | None
    user_files: tuple[Path, ...] = ()
    user_rules: tuple[Path, ...] = ()
    project: tuple[Path, ...] = ()


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """The path of a possible instruction file. A rule may apply to some files only (`paths:`)."""

    path: Path
    scope: InstructionScope
    is_rule: bool = False


def candidates(places: InstructionPaths, mode: str) -> Iterator[Candidate]:
    """All candidates, in prompt order; `mode` is the task mode."""
    for path in places.user_files:
        yield Candidate(path=path, scope=InstructionScope.USER)
    yield from _rules(places.user_rules, InstructionScope.USER)
    for directory in places.project:
        yield from candidates_in(directory, mode)


def candidates_in(directory: Path, mode: str) -> Iterator[Candidate]:
    """The candidates in one directory of a project."""
    for name in INSTRUCTION_FILES:
        yield Candidate(path=directory / name, scope=InstructionScope.PROJECT)
    names = RULE_DIRECTORIES if "/" in mode else (*RULE_DIRECTORIES, MODE_RULE_DIRECTORY.format(mode=mode))
    yield from _rules((directory / name for name in names), InstructionScope.PROJECT)


def _rules(directories: Iterable[Path], scope: InstructionScope) -> Iterator[Candidate]:
    for directory in directories:
        for path in islice(_rule_files(str(directory), MAX_DEPTH), MAX_RULES):
            yield Candidate(path=Path(path), scope=scope, is_rule=True)


def _rule_files(directory: str, depth: int) -> Iterator[str]:
    """Rule files by name, those of a directory before its subdirectories. Links to directories are not followed."""
    try:
        with os.scandir(directory) as listed:
            entries = sorted(islice(listed, 10 * MAX_RULES), key=lambda entry: entry.name)
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
