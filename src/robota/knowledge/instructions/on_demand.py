"""Instructions that are read only if there are any: without one, their modules are not loaded."""

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from robota.knowledge.instructions.session_instructions import SessionInstructions

INSTRUCTION_PATHS = ("AGENTS.md", "CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md", ".robota/rules", ".claude", ".roo")


class CandidatePaths(msgspec.Struct, frozen=True, kw_only=True):
    """The paths of possible instruction files of the user and the project."""

    home: Path | None
    files: tuple[Path, ...]
    rules: tuple[Path, ...]
    directories: tuple[Path, ...]

    @property
    def exist(self) -> bool:
        return any(map(os.path.lexists, (*self.files, *self.rules))) or has_instruction_paths(self.directories)


class InstructionsOnDemand:
    """An `InstructionService` that makes the real one when there may be a file."""

    def __init__(self, candidates: CandidatePaths, root: Path, make: "Callable[[], SessionInstructions]") -> None:
        self._is_project = bool(candidates.directories)
        self._exist = candidates.exist
        self._root = root
        self._make = make
        self._warn: Callable[[str], None] = lambda _: None

    def on_undecided(self, warn: "Callable[[str], None]") -> None:
        """Call `warn` for files that are left out until the user decides about them."""
        self._warn = warn

    @cached_property
    def _files(self) -> "SessionInstructions":
        files = self._make()
        files.on_undecided(self._warn)
        return files

    def prompt_section(self, mode: str) -> str:
        return self._files.prompt_section(mode) if self._exist else ""

    def touched(self, task_id: str, mode: str, paths: "Sequence[str]") -> str:
        if not self._is_project or not (self._exist or any(map(self._passes_instructions, paths))):
            return ""
        return self._files.touched(task_id, mode, paths)

    def _passes_instructions(self, path: str) -> bool:
        """Whether a directory between the workspace and a file may have instructions. Called with every tool call."""
        touched = Path(os.path.normpath(self._root / path))
        steps = len(touched.parts) - len(self._root.parts)
        if steps < 1 or not touched.is_relative_to(self._root):
            return False
        between = touched.parents[: steps - 1]
        return has_instruction_paths((*between, touched) if touched.is_dir() else between)


def has_instruction_paths(directories: Iterable[Path]) -> bool:
    """Whether one of the directories may have instruction files."""
    return any(os.path.lexists(f"{directory}/{sign}") for directory in directories for sign in INSTRUCTION_PATHS)


def project_directories(root: Path, home: Path | None) -> tuple[Path, ...]:
    """The directories from the top of the repository to the workspace; only the workspace without a repository.

    The home directory and directories of other users above the workspace are not part of a project.
    """
    owner = root.stat().st_uid
    homes = () if home is None else (home, home.resolve())
    directories: list[Path] = []
    for directory in (root, *root.parents):
        if directory == Path(root.anchor) or directory in homes or directory.stat().st_uid != owner:
            break
        directories.insert(0, directory)
        if os.path.lexists(directory / ".git"):
            return tuple(directories)
    return (root,)
