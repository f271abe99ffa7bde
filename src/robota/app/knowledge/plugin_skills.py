"""The skills and commands of a plugin, as sources for `SkillFinder`."""

from collections.abc import Iterator
from pathlib import Path

from robota.extensions.plugins.contents import PluginContents
from robota.knowledge.skills.discovery import SkillDirectory, SkillSource, read_skill
from robota.knowledge.skills.skill import Skill, SkillKind, SkillScope


def skill_files(
    contents: PluginContents, name: str, root: Path
) -> Iterator[tuple[SkillDirectory, tuple[SkillSource, ...]]]:
    """The directories of a plugin's skills and commands, with sources from the snapshot that the user agreed to."""
    for kind, sources in ((SkillKind.SKILL, contents.skills), (SkillKind.COMMAND, contents.commands)):
        yield (
            SkillDirectory(SkillScope.PLUGIN, str(root), kind, name),
            tuple(
                SkillSource.from_snapshot(each.relative, str(root / each.source.path), each.source) for each in sources
            ),
        )


def skills_of(contents: PluginContents, name: str, root: Path) -> tuple[Skill, ...]:
    """The parsed skills and commands of a plugin."""
    read = (read_skill(directory, each) for directory, sources in skill_files(contents, name, root) for each in sources)
    return tuple(skill for skill in read if skill is not None)
