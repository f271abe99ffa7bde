"""The skills and commands of a plugin, as sources for `SkillFinder`."""

from collections.abc import Iterator
from pathlib import Path

from robota.extensions.plugins.contents import PluginContents
from robota.knowledge.skills.discovery import SkillPlace, SkillSource, read_skill
from robota.knowledge.skills.skill import Skill, SkillKind, SkillScope


def skill_files(
    contents: PluginContents, name: str, root: Path
) -> Iterator[tuple[SkillPlace, tuple[SkillSource, ...]]]:
    """The places of a plugin's skills and commands, with sources from the snapshot that the user agreed to."""
    for kind, found in ((SkillKind.SKILL, contents.skills), (SkillKind.COMMAND, contents.commands)):
        yield (
            SkillPlace(SkillScope.PLUGIN, str(root), kind, name),
            tuple(
                SkillSource.from_snapshot(each.relative, str(root / each.source.path), each.source) for each in found
            ),
        )


def skills_of(contents: PluginContents, name: str, root: Path) -> tuple[Skill, ...]:
    """The parsed skills and commands of a plugin."""
    read = (read_skill(place, each) for place, found in skill_files(contents, name, root) for each in found)
    return tuple(skill for skill in read if skill is not None)
