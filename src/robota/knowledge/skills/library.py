"""Resolves names and aliases to skills."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from robota.knowledge.skills.skill import Skill


class SkillLibrary:
    """The skills of a session, by name."""

    def __init__(self, skills: Iterable[Skill] = ()) -> None:
        self.all: tuple[Skill, ...] = tuple(_with_unique_names(skills))
        self._by_name: dict[str, Skill] = {}
        # Plugins first: no file of a project can take over the name `plugin:skill`.
        for skill in sorted(self.all, key=lambda skill: not skill.plugin):
            self._by_name.setdefault(skill.name, skill)
        self._by_short_name = _short_names(self._by_name)
        for skill in self.all:
            if skill.qualified_name:
                self._by_name.setdefault(skill.qualified_name, skill)

    @property
    def reachable(self) -> Sequence[Skill]:
        """The skills that their own name resolves to, in order of precedence."""
        return tuple(skill for skill in self.all if self._by_name[skill.name] is skill)

    def other_names(self, skill: Skill) -> tuple[str, ...]:
        """Aliases that resolve to this skill: without the plugin's name, or with its directories."""
        return tuple(
            name
            for name in (self._short_name(skill), skill.qualified_name)
            if name and name != skill.name and self.named(name) is skill
        )

    def named(self, name: str) -> Skill | None:
        """The skill that a name or alias resolves to. A plugin's skill has its short name only if that is unique."""
        return self._by_name.get(name) or self._by_short_name.get(name)

    def _short_name(self, skill: Skill) -> str:
        """The name without the plugin's, if it resolves to this skill; otherwise empty."""
        short = skill.name.partition(":")[2] if skill.plugin else ""
        return short if self._by_short_name.get(short) is skill else ""

    def shadowed_by(self, skill: Skill) -> Skill | None:
        """The other skill that the name of this one resolves to; None if it resolves to this one."""
        resolved = self._by_name[skill.name]
        return None if resolved is skill else resolved


def _with_unique_names(skills: Iterable[Skill]) -> Iterator[Skill]:
    """If the name of a command is taken, use its name with directories instead (`git:commit`)."""
    taken: set[str] = set()
    for skill in skills:
        if skill.name in taken and skill.qualified_name:
            skill = msgspec.structs.replace(skill, name=skill.qualified_name)
        taken.add(skill.name)
        yield skill


def _short_names(by_name: Mapping[str, Skill]) -> dict[str, Skill]:
    """Plugin skills by their name without the plugin's, where that is unambiguous."""
    by_short_name: dict[str, list[Skill]] = {}
    for name, skill in by_name.items():
        if skill.plugin:
            by_short_name.setdefault(name.partition(":")[2], []).append(skill)
    return {short: skills[0] for short, skills in by_short_name.items() if len(skills) == 1 and short not in by_name}
