"""Builds the skill service of a session from the places of user, trusted project and plugins."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robota.config.paths import known_home, user_directory
from robota.config.settings.load import Settings, load_settings
from robota.config.trust.lock_file import lock_path

if TYPE_CHECKING:
    from robota.app.knowledge.trusted_files import TrustedFiles
    from robota.contracts.knowledge import KnowledgeService
    from robota.extensions.plugins.active import ActivePlugin
    from robota.knowledge.skills.discovery import SkillFinder, SkillPlace, SkillSource
    from robota.knowledge.skills.skill import Skill

OWNERS = (".robota", ".claude", ".agents", ".gemini", ".roo", ".opencode", ".cursor")
KINDS = ("skills", "commands")


def session_knowledge(
    settings: Settings,
    plugins: "Sequence[ActivePlugin]",
    root: Path,
    env: Mapping[str, str],
    variables: Mapping[str, str],
    *,
    attended: bool = False,
) -> "KnowledgeService | None":
    """The skills of user, plugins and trusted workspace; None if there are none.

    In an `attended` session without skills, they are searched again when a command is typed.
    """
    if not _has_some(settings, plugins, env):
        return _lazy_skills(plugins, root, env, variables) if attended else None
    from robota.app.knowledge.trusted_files import TrustedFiles
    from robota.knowledge.session_knowledge import SessionKnowledge
    from robota.tools.registry import SHELL_TOOL

    project = TrustedFiles(settings, root, env)
    finder = _finder(project, plugins, root, env)
    home = known_home(env)
    from_plugins = {plugin.name: plugin.variables for plugin in plugins}

    def variables_of(skill: "Skill") -> Mapping[str, str]:
        own = str(Path(skill.path).parent)
        known = {**variables, "PROJECT_DIR": str(root), "CLAUDE_PROJECT_DIR": str(root), "USER_HOME": str(home or "")}
        return {**known, **from_plugins.get(skill.plugin, {}), "CLAUDE_SKILL_DIR": own, "SKILL_DIR": own}

    return SessionKnowledge(finder, SHELL_TOOL, variables_of, project.refresh)


def _lazy_skills(
    plugins: "Sequence[ActivePlugin]", root: Path, env: Mapping[str, str], variables: Mapping[str, str]
) -> "KnowledgeService":
    """A service for skills that are added while the session runs."""
    from robota.app.knowledge.lazy_skills import LazySkills

    places = (*_user_places(env), *(root / owner / kind for owner in OWNERS for kind in KINDS), lock_path(env))
    return LazySkills(places, lambda: session_knowledge(load_settings(root, env), plugins, root, env, variables))


def skill_finder(
    settings: Settings, plugins: "Sequence[ActivePlugin]", root: Path, env: Mapping[str, str]
) -> "SkillFinder | None":
    """The finder of skills; None if there is no place for them."""
    if not _has_some(settings, plugins, env):
        return None
    from robota.app.knowledge.trusted_files import TrustedFiles

    return _finder(TrustedFiles(settings, root, env), plugins, root, env)


def _has_some(settings: Settings, plugins: "Sequence[ActivePlugin]", env: Mapping[str, str]) -> bool:
    """Whether there is any place with skills."""
    trusted = settings.trust.snapshot.sources if settings.trust is not None and settings.is_trusted else ()
    return (
        any(_is_skill(source.path) for source in trusted)
        or any(map(Path.is_dir, _user_places(env)))
        or any(plugin.contents.skills or plugin.contents.commands for plugin in plugins)
    )


def _finder(
    project: "TrustedFiles", plugins: "Sequence[ActivePlugin]", root: Path, env: Mapping[str, str]
) -> "SkillFinder":
    from robota.knowledge.skills.discovery import PLACES, SkillFinder, SkillSource, user_skill_files
    from robota.knowledge.skills.skill import SkillScope

    from_plugins = _plugin_sources(plugins) if plugins else {}

    def files(place: "SkillPlace") -> Iterable["SkillSource"]:
        if place.scope is SkillScope.PLUGIN:
            return from_plugins[place]
        if place.scope is SkillScope.USER:
            directory = _user_place(place.directory, env)
            return () if directory is None else user_skill_files(directory)
        prefix = f"{place.directory}/"
        return (
            SkillSource.from_snapshot(source.path.removeprefix(prefix), f"{root}/{source.path}", source)
            for source in project.sources
            if source.path.startswith(prefix)
        )

    return SkillFinder(files, user_directory(env) / "cache" / "skills.json", (*PLACES, *from_plugins))


def _plugin_sources(plugins: "Sequence[ActivePlugin]") -> "dict[SkillPlace, tuple[SkillSource, ...]]":
    from robota.app.knowledge.plugin_skills import skill_files

    return {
        place: found for plugin in plugins for place, found in skill_files(plugin.contents, plugin.name, plugin.root)
    }


def _is_skill(path: str) -> bool:
    return path.split("/")[1:2] in (["skills"], ["commands"])


def _user_places(env: Mapping[str, str]) -> Iterable[Path]:
    places = (_user_place(f"{owner}/{kind}", env) for owner in OWNERS for kind in KINDS)
    return (place for place in places if place is not None)


def _user_place(directory: str, env: Mapping[str, str]) -> Path | None:
    """A directory for user skills; that of Robota may be outside the home directory (`ROBOTA_HOME`)."""
    owner, _, kind = directory.partition("/")
    if owner == ".robota":
        return user_directory(env) / kind
    home = known_home(env)
    return None if home is None else home / directory
