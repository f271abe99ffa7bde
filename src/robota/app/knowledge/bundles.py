"""The directories of skills and plugins in a session: approved with them, readable, and read-only for commands."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.app.knowledge.skills import project_skill_directories, skill_finder, user_skill_directories
from robota.config.settings.load import Settings
from robota.workspace.bundles import BundleMember

if TYPE_CHECKING:
    from robota.app.knowledge.trusted_files import TrustedFiles
    from robota.extensions.plugins.active import ActivePlugin
    from robota.knowledge.skills.discovery import SkillFinder
    from robota.knowledge.skills.skill import Skill
    from robota.workspace.bundles import Bundle, Bundles

# Each costs a mount for every command.
MAX_MOUNTS: Final = 64


class SessionBundles:
    """Finds the bundles of a session when a path is asked about that may be in one."""

    def __init__(
        self, settings: Settings, plugins: "Sequence[ActivePlugin]", root: Path, env: Mapping[str, str]
    ) -> None:
        self._settings = settings
        self._plugins = plugins
        self._root = root
        self._env = env
        self._user_directories = tuple(
            str(directory) for directory in user_skill_directories(env) if directory.name == "skills"
        )
        self._plugin_roots = tuple(str(plugin.root) for plugin in plugins)
        of_project = (str(directory) for directory in project_skill_directories(root) if directory.name == "skills")
        self._directories = (*self._user_directories, *of_project, *self._plugin_roots)

    def holding(self, path: str) -> BundleMember | None:
        """The bundle that a path is in; None for one that is in none."""
        if "bundles" not in self.__dict__ and not any(_may_be_in(path, directory) for directory in self._directories):
            return None
        return self.bundles.holding(path)

    def outside(self, path: str) -> Path | None:
        """The root of the bundle outside the workspace that an absolute path is in."""
        if not path.startswith("/") or _may_be_in(path, str(self._root)):
            return None
        bundled = self.holding(path)
        return None if bundled is None else bundled.root

    def start(self, file: str) -> None:
        """Note that the user started the skill of this file."""
        self.bundles.start(file)

    @cached_property
    def bundles(self) -> "Bundles":
        from robota.workspace.bundles import Bundles

        return Bundles(self._directories, lambda: tuple(self._find()))

    def shown_to_commands(self) -> tuple[Path, ...]:
        """The directories outside the workspace that commands may read; skills that are links are among them."""
        directories = [
            Path(directory) for directory in (*self._plugin_roots, *self._user_directories) if Path(directory).is_dir()
        ]
        links = (entry for directory in self._user_directories for entry in _links_in(directory))
        return tuple(dict.fromkeys((*directories, *links)))[:MAX_MOUNTS]

    @cached_property
    def _finder(self) -> "SkillFinder | None":
        return skill_finder(self._settings, self._plugins, self._root, self._env)

    @cached_property
    def _trusted(self) -> "TrustedFiles":
        from robota.app.knowledge.trusted_files import TrustedFiles

        return TrustedFiles(self._settings, self._root, self._env)

    def _find(self) -> "Iterator[Bundle]":
        from robota.knowledge.skills.skill import SkillKind
        from robota.workspace.bundles import Bundle

        for plugin in self._plugins:
            yield Bundle(owner=f"the plugin {plugin.plugin.id}", path=plugin.root, pinned=plugin.digests)
        skills = () if self._finder is None else self._finder.library().all
        for skill in skills:
            if skill.kind is SkillKind.SKILL and not skill.plugin:
                yield self._of_skill(skill)

    def _of_skill(self, skill: "Skill") -> "Bundle":
        from robota.knowledge.skills.skill import SkillScope
        from robota.workspace.bundles import Bundle

        directory = Path(skill.path).parent
        pinned = self._trusted_digests(directory) if skill.scope is SkillScope.PROJECT else None
        return Bundle(
            owner=f"the skill {skill.name}",
            path=directory,
            pinned=pinned,
            started_by="" if skill.model_invocable else skill.path,
        )

    def _trusted_digests(self, directory: Path) -> dict[str, str]:
        self._trusted.refresh()
        prefix = f"{directory.relative_to(self._root)}/"
        sources = (source for source in self._trusted.sources if source.path.startswith(prefix))
        return {source.path.removeprefix(prefix): source.digest for source in sources}


def _links_in(directory: str) -> Iterator[Path]:
    try:
        with os.scandir(directory) as listed:
            yield from (Path(entry.path) for entry in listed if entry.is_symlink() and entry.is_dir())
    except OSError:
        return


def _may_be_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")
