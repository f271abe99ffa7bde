"""The instruction files of the person and of the project."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from robota.app.knowledge.memory import INDEX, PROJECT_MEMORY
from robota.config.paths import known_home, user_directory
from robota.config.settings.load import Settings
from robota.config.trust.decision import is_trusted_by_person

if TYPE_CHECKING:
    from robota.knowledge.instructions.session_instructions import SessionInstructions
    from robota.policy.decide import SessionPolicy

# Where none of these is, there are no instructions, and nothing more is loaded to find that out.
INSTRUCTION_SIGNS = ("AGENTS.md", "CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md", ".robota/rules", ".claude", ".roo")


def session_instructions(
    settings: Settings, root: Path, env: Mapping[str, str], policy: "SessionPolicy"
) -> "SessionInstructions | None":
    """The instruction files of the person and of the project; None where there are none."""
    home = known_home(env)
    directories = () if settings.trust is None else project_directories(root, home)
    files = (user_directory(env) / "AGENTS.md", *(() if home is None else (home / ".claude/CLAUDE.md",)))
    rules = (user_directory(env) / "rules", *(() if home is None else (home / ".claude/rules",)))
    if not any(map(os.path.lexists, (*files, *rules))) and not _has_signs(directories):
        return None
    from robota.knowledge.instructions.places import InstructionPlaces
    from robota.knowledge.instructions.session_instructions import SessionInstructions

    places = InstructionPlaces(home=home, user_files=files, user_rules=rules, project=directories)

    def is_denied(path: str) -> bool:
        place = os.path.relpath(path, root)
        return policy.forbids_reading(place) or policy.files.secret_pattern(place) is not None

    return SessionInstructions(places, is_denied, lambda: is_trusted_by_person(settings.trust, env))


def has_project_instructions(root: Path, env: Mapping[str, str]) -> bool:
    """Whether a project may say anything to the model, in instruction files or in its memory."""
    return _has_signs(project_directories(root, known_home(env))) or os.path.lexists(root / PROJECT_MEMORY / INDEX)


def _has_signs(directories: Iterable[Path]) -> bool:
    return any(os.path.lexists(directory / sign) for directory in directories for sign in INSTRUCTION_SIGNS)


def project_directories(root: Path, home: Path | None) -> tuple[Path, ...]:
    """From the top of the repository to the workspace; only the workspace if it lies in none.

    A home directory is no project, and what somebody else put above the workspace is none of it.
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
