"""What a project and a person tell the model: their skills and prompt commands."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from robota.config.errors import ConfigError
from robota.config.paths import home_directory, user_directory
from robota.config.settings.load import Settings
from robota.config.trust.sources import ConfigSource

if TYPE_CHECKING:
    from robota.contracts.knowledge import KnowledgeService
    from robota.knowledge.skills.discovery import SkillFinder, SkillPlace, SkillSource
    from robota.knowledge.skills.skill import Skill

HOLDERS = (".robota", ".claude", ".agents", ".gemini")
KINDS = ("skills", "commands")


def session_knowledge(
    settings: Settings, root: Path, env: Mapping[str, str], variables: Mapping[str, str]
) -> "KnowledgeService | None":
    """The skills of the person and, after trust, of the workspace; None where there are none, as in most places."""
    finder = skill_finder(settings, root, env)
    if finder is None:
        return None
    from robota.knowledge.session_knowledge import SessionKnowledge
    from robota.tools.registry import SHELL_TOOL

    home = _home(env)

    def variables_of(skill: "Skill") -> Mapping[str, str]:
        own = str(Path(skill.path).parent)
        known = {**variables, "PROJECT_DIR": str(root), "CLAUDE_PROJECT_DIR": str(root), "USER_HOME": str(home or "")}
        return {**known, "CLAUDE_SKILL_DIR": own, "SKILL_DIR": own}

    return SessionKnowledge(finder, SHELL_TOOL, variables_of)


def skill_finder(settings: Settings, root: Path, env: Mapping[str, str]) -> "SkillFinder | None":
    """Finds the skills; None if no place for them exists."""
    project = _trusted_files(settings)
    if not any(_is_skill(source.path) for source in project) and not any(map(Path.is_dir, _user_places(env))):
        return None
    from robota.knowledge.skills.discovery import SkillFinder, SkillSource, files_of_person
    from robota.knowledge.skills.skill import SkillScope

    def files(place: "SkillPlace") -> Iterable["SkillSource"]:
        if place.scope is SkillScope.USER:
            directory = _user_place(place.directory, env)
            return () if directory is None else files_of_person(directory)
        prefix = f"{place.directory}/"
        return (
            SkillSource(
                source.path.removeprefix(prefix), str(root / source.path), source.digest, partial(_data, source)
            )
            for source in project
            if source.path.startswith(prefix)
        )

    return SkillFinder(files, user_directory(env) / "cache" / "skills.json")


def _trusted_files(settings: Settings) -> Sequence[ConfigSource]:
    """The files of the workspace as they were when the person trusted it."""
    return () if settings.trust is None or not settings.is_trusted else settings.trust.snapshot.sources


def _data(source: ConfigSource) -> bytes | None:
    return source.data


def _is_skill(path: str) -> bool:
    return path.split("/")[1:2] in (["skills"], ["commands"])


def _user_places(env: Mapping[str, str]) -> Iterable[Path]:
    places = (_user_place(f"{holder}/{kind}", env) for holder in HOLDERS for kind in KINDS)
    return (place for place in places if place is not None)


def _user_place(directory: str, env: Mapping[str, str]) -> Path | None:
    """A place for skills of the person's own; ours may lie elsewhere than in the home directory."""
    holder, _, kind = directory.partition("/")
    if holder == ".robota":
        return user_directory(env) / kind
    home = _home(env)
    return None if home is None else home / directory


def _home(env: Mapping[str, str]) -> Path | None:
    try:
        return home_directory(env)
    except ConfigError:
        return None
