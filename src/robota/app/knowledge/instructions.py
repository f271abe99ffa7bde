"""Builds the instruction service of a session. It is loaded only if there are instruction files."""

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from robota.app.knowledge.memory import INDEX, PROJECT_MEMORY
from robota.config.paths import known_home, user_directory
from robota.config.settings.load import Settings
from robota.config.trust.decision import is_trusted_by_user

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from robota.knowledge.instructions.session_instructions import SessionInstructions
    from robota.policy.decide import SessionPolicy

# If none of these exists, there are no instructions, and their modules are not loaded.
INSTRUCTION_PATHS = ("AGENTS.md", "CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md", ".robota/rules", ".claude", ".roo")


def session_instructions(
    settings: Settings, root: Path, env: Mapping[str, str], policy: "SessionPolicy"
) -> "LazyInstructions":
    """The instruction service of a session, loaded when it is needed."""
    places = _Places(settings, root, env)
    return LazyInstructions(places, root, lambda: instruction_files(settings, root, env, policy))


def instruction_files(
    settings: Settings, root: Path, env: Mapping[str, str], policy: "SessionPolicy"
) -> "SessionInstructions":
    """The instruction service for the files of the user and the project."""
    from robota.config.trust.outside_files import OutsideFileAnswers
    from robota.knowledge.instructions.loader import ReadingRules
    from robota.knowledge.instructions.places import InstructionPlaces
    from robota.knowledge.instructions.session_instructions import SessionInstructions
    from robota.policy.protected.path_resolver import credential_store

    found = _Places(settings, root, env)
    robota_directory = user_directory(env).resolve()
    places = InstructionPlaces(
        home=found.home, user_files=found.files, user_rules=found.rules, project=found.directories
    )

    def is_denied(path: str) -> bool:
        place = os.path.relpath(path, root)
        kept = policy.forbids_reading(place) or policy.files.is_ignored(place)
        own = place.startswith("..") and (
            credential_store(path) is not None or Path(path).is_relative_to(robota_directory)
        )
        return kept or own or policy.files.secret_pattern(place) is not None

    def is_trusted() -> bool:
        return is_trusted_by_user(settings.trust, env)

    is_agreed = OutsideFileAnswers(root, env).is_agreed if is_trusted() else None
    rules = ReadingRules(is_denied=is_denied, is_agreed=is_agreed)
    return SessionInstructions(places, root, rules, is_trusted)


def project_instructions(root: Path) -> "SessionInstructions":
    """The instruction service for the files of a project alone, all trusted, without files outside it."""
    from robota.knowledge.instructions.loader import ReadingRules
    from robota.knowledge.instructions.places import InstructionPlaces
    from robota.knowledge.instructions.session_instructions import SessionInstructions

    places = InstructionPlaces(home=None, project=project_directories(root, None))
    return SessionInstructions(places, root, ReadingRules(is_denied=lambda path: False), lambda: True)


class _Places:
    """The paths of possible instruction files of the user and the project."""

    def __init__(self, settings: Settings, root: Path, env: Mapping[str, str]) -> None:
        self.home = known_home(env)
        claude_directories = () if self.home is None else (self.home / ".claude",)
        self.directories = () if settings.trust is None else project_directories(root, self.home)
        self.files = (user_directory(env) / "AGENTS.md", *(each / "CLAUDE.md" for each in claude_directories))
        self.rules = (user_directory(env) / "rules", *(each / "rules" for each in claude_directories))

    @property
    def exist(self) -> bool:
        return any(map(os.path.lexists, (*self.files, *self.rules))) or _has_instruction_paths(self.directories)


class LazyInstructions:
    """An `InstructionService` that loads the real one when there may be a file."""

    def __init__(self, places: _Places, root: Path, make: "Callable[[], SessionInstructions]") -> None:
        self._is_project = bool(places.directories)
        self._exist = places.exist
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
        place = Path(os.path.normpath(self._root / path))
        steps = len(place.parts) - len(self._root.parts)
        if steps < 1 or not place.is_relative_to(self._root):
            return False
        between = place.parents[: steps - 1]
        return _has_instruction_paths((*between, place) if place.is_dir() else between)


def has_project_instructions(root: Path, env: Mapping[str, str]) -> bool:
    """Whether a project may have instruction files or a memory."""
    return _has_instruction_paths(project_directories(root, known_home(env))) or os.path.lexists(
        root / PROJECT_MEMORY / INDEX
    )


def _has_instruction_paths(directories: Iterable[Path]) -> bool:
    return any(os.path.lexists(f"{directory}/{sign}") for directory in directories for sign in INSTRUCTION_PATHS)


def project_directories(root: Path, home: Path | None) -> tuple[Path, ...]:
    """The directories from the top of the repository to the workspace; only the workspace without a repository.

    The home directory and directories of other users above the workspace are not part of a project.
    """
    owner = root.stat().st_uid
    homes = () if home is None else (home, home.resolve())
    found: list[Path] = []
    for directory in (root, *root.parents):
        if directory == Path(root.anchor) or directory in homes or directory.stat().st_uid != owner:
            break
        found.insert(0, directory)
        if os.path.lexists(directory / ".git"):
            return tuple(found)
    return (root,)
