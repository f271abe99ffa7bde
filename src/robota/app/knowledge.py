"""What a project and a person tell the model: their instruction files, skills and prompt commands."""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from robota.config.errors import ConfigError
from robota.config.paths import home_directory, user_directory
from robota.config.settings.load import Settings
from robota.config.trust.decision import is_trusted_by_person
from robota.config.trust.sources import ConfigSource

if TYPE_CHECKING:
    from robota.contracts.knowledge import KnowledgeService
    from robota.extensions.plugins.active import ActivePlugin
    from robota.knowledge.instructions.session_instructions import SessionInstructions
    from robota.knowledge.skills.discovery import SkillFinder, SkillPlace, SkillSource
    from robota.knowledge.skills.skill import Skill
    from robota.policy.decide import SessionPolicy

HOLDERS = (".robota", ".claude", ".agents", ".gemini")
KINDS = ("skills", "commands")
# Where none of these is, there are no instructions, and nothing more is loaded to find that out.
INSTRUCTION_SIGNS = ("AGENTS.md", "CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md", ".robota/rules", ".claude", ".roo")


def session_knowledge(
    settings: Settings,
    plugins: "Sequence[ActivePlugin]",
    root: Path,
    env: Mapping[str, str],
    variables: Mapping[str, str],
) -> "KnowledgeService | None":
    """The skills of person and plugins and, after trust, of the workspace; None where there are none, as mostly."""
    finder = skill_finder(settings, plugins, root, env)
    if finder is None:
        return None
    from robota.knowledge.session_knowledge import SessionKnowledge
    from robota.tools.registry import SHELL_TOOL

    home = _home(env)
    of_plugins = {plugin.name: plugin.variables for plugin in plugins}

    def variables_of(skill: "Skill") -> Mapping[str, str]:
        own = str(Path(skill.path).parent)
        known = {**variables, "PROJECT_DIR": str(root), "CLAUDE_PROJECT_DIR": str(root), "USER_HOME": str(home or "")}
        return {**known, **of_plugins.get(skill.plugin, {}), "CLAUDE_SKILL_DIR": own, "SKILL_DIR": own}

    return SessionKnowledge(finder, SHELL_TOOL, variables_of)


def session_instructions(
    settings: Settings, root: Path, env: Mapping[str, str], policy: "SessionPolicy"
) -> "SessionInstructions | None":
    """The instruction files of the person and of the project; None where there are none."""
    home = _home(env)
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
    """Whether a project may say anything to the model."""
    return _has_signs(project_directories(root, _home(env)))


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


def skill_finder(
    settings: Settings, plugins: "Sequence[ActivePlugin]", root: Path, env: Mapping[str, str]
) -> "SkillFinder | None":
    """Finds the skills; None if no place for them exists."""
    project = _trusted_files(settings)
    has_some = any(_is_skill(source.path) for source in project) or any(map(Path.is_dir, _user_places(env)))
    if not has_some and not any(plugin.contents.skills or plugin.contents.commands for plugin in plugins):
        return None
    from robota.commands.plugins.skill_files import skill_files
    from robota.knowledge.skills.discovery import PLACES, SkillFinder, SkillSource, files_of_person
    from robota.knowledge.skills.skill import SkillScope

    of_plugins = {
        place: found for plugin in plugins for place, found in skill_files(plugin.contents, plugin.name, plugin.root)
    }

    def files(place: "SkillPlace") -> Iterable["SkillSource"]:
        if place.scope is SkillScope.PLUGIN:
            return of_plugins[place]
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

    return SkillFinder(files, user_directory(env) / "cache" / "skills.json", (*PLACES, *of_plugins))


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
