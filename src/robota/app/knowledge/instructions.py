"""Builds the instruction service of a session. It is loaded only if there are instruction files."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from robota.app.knowledge.memory import INDEX, PROJECT_MEMORY
from robota.config.paths import known_home, user_directory
from robota.config.settings.load import Settings
from robota.config.trust.decision import is_trusted_by_user
from robota.knowledge.instructions.on_demand import (
    CandidatePaths,
    InstructionsOnDemand,
    has_instruction_paths,
    project_directories,
)

if TYPE_CHECKING:
    from robota.knowledge.instructions.session_instructions import SessionInstructions
    from robota.policy.decide import SessionPolicy


def session_instructions(
    settings: Settings, root: Path, env: Mapping[str, str], policy: "SessionPolicy"
) -> InstructionsOnDemand:
    """The instruction service of a session, loaded when it is needed."""
    make = partial(instruction_files, settings, root, env, policy)
    return InstructionsOnDemand(_candidates(settings, root, env), root, make)


def instruction_files(
    settings: Settings, root: Path, env: Mapping[str, str], policy: "SessionPolicy"
) -> "SessionInstructions":
    """The instruction service for the files of the user and the project."""
    from robota.config.trust.outside_files import OutsideFileAnswers
    from robota.knowledge.instructions.loader import ReadingRules
    from robota.knowledge.instructions.paths import InstructionPaths
    from robota.knowledge.instructions.session_instructions import SessionInstructions

    candidates = _candidates(settings, root, env)
    paths = InstructionPaths(
        home=candidates.home, user_files=candidates.files, user_rules=candidates.rules, project=candidates.directories
    )
    is_trusted = partial(is_trusted_by_user, settings.trust, env)
    is_agreed = OutsideFileAnswers(root, env).is_agreed if is_trusted() else None
    robota_directory = user_directory(env).resolve()
    rules = ReadingRules(is_denied=partial(_is_denied, policy, root, robota_directory), is_agreed=is_agreed)
    return SessionInstructions(paths, root, rules, is_trusted)


def _is_denied(policy: "SessionPolicy", root: Path, robota_directory: Path, path: str) -> bool:
    """Whether instructions must not import a file: a secret, an ignored or forbidden file, or one of Robota's own."""
    from robota.policy.protected.path_resolver import credential_store

    relative = os.path.relpath(path, root)
    if policy.forbids_reading(relative) or policy.files.is_ignored(relative) or policy.files.secret_pattern(relative):
        return True
    is_own = credential_store(path) is not None or Path(path).is_relative_to(robota_directory)
    return relative.startswith("..") and is_own


def project_instructions(root: Path) -> "SessionInstructions":
    """The instruction service for the files of a project alone, all trusted, without files outside it."""
    from robota.knowledge.instructions.loader import ReadingRules
    from robota.knowledge.instructions.paths import InstructionPaths
    from robota.knowledge.instructions.session_instructions import SessionInstructions

    paths = InstructionPaths(home=None, project=project_directories(root, None))
    return SessionInstructions(paths, root, ReadingRules(is_denied=lambda path: False), lambda: True)


def _candidates(settings: Settings, root: Path, env: Mapping[str, str]) -> CandidatePaths:
    home, user = known_home(env), user_directory(env)
    claude_directories = () if home is None else (home / ".claude",)
    return CandidatePaths(
        home=home,
        files=(user / "AGENTS.md", *(each / "CLAUDE.md" for each in claude_directories)),
        rules=(user / "rules", *(each / "rules" for each in claude_directories)),
        directories=() if settings.trust is None else project_directories(root, home),
    )


def has_project_instructions(root: Path, env: Mapping[str, str]) -> bool:
    """Whether a project may have instruction files or a memory."""
    return has_instruction_paths(project_directories(root, known_home(env))) or os.path.lexists(
        root / PROJECT_MEMORY / INDEX
    )
