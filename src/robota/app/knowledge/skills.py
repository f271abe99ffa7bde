"""Builds the skill service of a session from the directories of user, trusted project and plugins."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from robota.config.paths import known_home, user_directory
from robota.config.settings.load import Settings, load_settings
from robota.config.trust.lock_file import lock_path
from robota.config.trust.sources import SKILL_HOLDERS

if TYPE_CHECKING:
    from robota.app.knowledge.trusted_files import TrustedFiles
    from robota.contracts.knowledge import KnowledgeService
    from robota.extensions.plugins.active import ActivePlugin
    from robota.knowledge.skills.discovery import SkillDirectory, SkillFinder, SkillSource
    from robota.knowledge.skills.skill import Skill

KINDS = ("skills", "commands")


def session_knowledge(
    settings: Settings,
    plugins: "Sequence[ActivePlugin]",
    root: Path,
    env: Mapping[str, str],
    variables: Mapping[str, str],
    *,
    on_typed: Callable[[str], None] = lambda path: None,
    attended: bool = False,
) -> "KnowledgeService | None":
    """The skills of user, plugins and trusted workspace; None if there are none.

    `on_typed` gets the file of a skill that the user runs. An `attended` session without skills looks again later.
    """
    if not has_skills(settings, plugins, env):
        return _late_skills(plugins, root, env, variables, on_typed) if attended else None
    from robota.app.knowledge.trusted_files import TrustedFiles
    from robota.knowledge.session_knowledge import SessionKnowledge
    from robota.tools.registry import SHELL_TOOL

    project = TrustedFiles(settings, root, env)
    finder = _finder(project, plugins, root, env)
    values = {**variables, "PROJECT_DIR": str(root), "CLAUDE_PROJECT_DIR": str(root)}
    values["USER_HOME"] = str(known_home(env) or "")
    return SessionKnowledge(finder, SHELL_TOOL, partial(_skill_variables, values, plugins), project.refresh, on_typed)


def _skill_variables(known: Mapping[str, str], plugins: "Sequence[ActivePlugin]", skill: "Skill") -> Mapping[str, str]:
    """What a skill can refer to by name."""
    of_plugin = next((plugin.variables for plugin in plugins if plugin.name == skill.plugin), {})
    own = str(Path(skill.path).parent)
    return {**known, **of_plugin, "CLAUDE_SKILL_DIR": own, "SKILL_DIR": own}


def _late_skills(
    plugins: "Sequence[ActivePlugin]",
    root: Path,
    env: Mapping[str, str],
    variables: Mapping[str, str],
    on_typed: Callable[[str], None],
) -> "KnowledgeService":
    """A service for skills that are added while the session runs."""
    from robota.knowledge.skills.late_skills import LateSkills

    directories = (*user_skill_directories(env), *project_skill_directories(root), lock_path(env))

    def find() -> "KnowledgeService | None":
        return session_knowledge(load_settings(root, env), plugins, root, env, variables, on_typed=on_typed)

    return LateSkills(directories, find)


def skill_finder(
    settings: Settings, plugins: "Sequence[ActivePlugin]", root: Path, env: Mapping[str, str]
) -> "SkillFinder | None":
    """The finder of skills; None if there is no directory for them."""
    if not has_skills(settings, plugins, env):
        return None
    from robota.app.knowledge.trusted_files import TrustedFiles

    return _finder(TrustedFiles(settings, root, env), plugins, root, env)


def has_skills(settings: Settings, plugins: "Sequence[ActivePlugin]", env: Mapping[str, str]) -> bool:
    """Whether there is any directory with skills; if not, their modules are not loaded."""
    trusted = settings.trust.snapshot.sources if settings.trust is not None and settings.is_trusted else ()
    return (
        any(_is_skill(source.path) for source in trusted)
        or any(map(Path.is_dir, user_skill_directories(env)))
        or any(plugin.contents.skills or plugin.contents.commands for plugin in plugins)
    )


def _finder(
    project: "TrustedFiles", plugins: "Sequence[ActivePlugin]", root: Path, env: Mapping[str, str]
) -> "SkillFinder":
    from robota.knowledge.skills.discovery import SKILL_DIRECTORIES, SkillFinder, SkillSource, user_skill_files
    from robota.knowledge.skills.skill import SkillScope

    from_plugins = _plugin_sources(plugins) if plugins else {}

    def files(skills: "SkillDirectory") -> Iterable["SkillSource"]:
        if skills.scope is SkillScope.PLUGIN:
            return from_plugins[skills]
        if skills.scope is SkillScope.USER:
            directory = _user_directory(skills.path, env)
            return () if directory is None else user_skill_files(directory)
        prefix = f"{skills.path}/"
        return (
            SkillSource.from_snapshot(source.path.removeprefix(prefix), f"{root}/{source.path}", source)
            for source in project.sources
            if source.path.startswith(prefix)
        )

    return SkillFinder(files, user_directory(env) / "cache" / "skills.json", (*SKILL_DIRECTORIES, *from_plugins))


def _plugin_sources(plugins: "Sequence[ActivePlugin]") -> "dict[SkillDirectory, tuple[SkillSource, ...]]":
    from robota.app.knowledge.plugin_skills import skill_files

    return {
        directory: files
        for plugin in plugins
        for directory, files in skill_files(plugin.contents, plugin.name, plugin.root)
    }


def _is_skill(path: str) -> bool:
    return path.split("/")[1:2] in (["skills"], ["commands"])


def project_skill_directories(root: Path) -> Iterable[Path]:
    """The directories of a project that may contain skills or commands."""
    return (root / owner / kind for owner in SKILL_HOLDERS for kind in KINDS)


def user_skill_directories(env: Mapping[str, str]) -> Iterable[Path]:
    """The directories of the user that may contain skills or commands."""
    directories = (_user_directory(f"{owner}/{kind}", env) for owner in SKILL_HOLDERS for kind in KINDS)
    return (directory for directory in directories if directory is not None)


def _user_directory(directory: str, env: Mapping[str, str]) -> Path | None:
    """A directory for user skills; that of Robota may be outside the home directory (`ROBOTA_HOME`)."""
    owner, _, kind = directory.partition("/")
    if owner == ".robota":
        return user_directory(env) / kind
    home = known_home(env)
    return None if home is None else home / directory
