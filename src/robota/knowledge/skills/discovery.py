"""Where skills and prompt commands are found, and which of two with one name is meant."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from robota.knowledge.front_matter import read_front_matter
from robota.knowledge.skills.cache import cached_skills, keep_skills
from robota.knowledge.skills.skill import Skill, SkillFile, SkillKind, SkillScope, is_usable_name, skill_from

if TYPE_CHECKING:
    from robota.knowledge.skills.template import Part

LONGEST_FILE: Final = 256 * 1024
MOST_FILES: Final = 2_000
DEEPEST: Final = 4
SKILL_FILE: Final = "SKILL.md"
TOML: Final = ".toml"
WORTH_CACHING: Final = 20
# Another number makes every file be read again; it changes when more is read of one.
READING: Final = 3


class SkillPlace(msgspec.Struct, frozen=True):
    """A directory below the workspace, the person's home or a plugin, and what it holds."""

    scope: SkillScope
    directory: str
    kind: SkillKind
    plugin: str = ""


# The first of one name is meant: the project's own before the person's, and those shared with other agents last.
PLACES: Final = tuple(
    SkillPlace(scope, f"{owner}/{kind}s", kind)
    for scope, owners in (
        (SkillScope.PROJECT, (".robota", ".claude")),
        (SkillScope.USER, (".robota", ".claude")),
        (SkillScope.PROJECT, (".agents", ".gemini")),
        (SkillScope.USER, (".agents", ".gemini")),
    )
    for owner in owners
    for kind in SkillKind
)


class SkillSource(msgspec.Struct, frozen=True):
    """A file below a place: its path from there on, where it is, and its bytes, None if they cannot be had.

    `version` is another one whenever the bytes may be others.
    """

    relative: str
    path: str
    version: str
    data: Callable[[], bytes | None]


class SkillLibrary:
    """The skills of a session."""

    def __init__(self, found: Iterable[Skill] = ()) -> None:
        self.all: tuple[Skill, ...] = tuple(_told_apart(found))
        self._by_name: dict[str, Skill] = {}
        # What stands in front of a colon is a plugin first: no file of a project can take its name.
        for skill in sorted(self.all, key=lambda skill: not skill.plugin):
            self._by_name.setdefault(skill.name, skill)
        self._by_short_name = _short_names(self._by_name)
        for skill in self.all:
            if skill.long_name:
                self._by_name.setdefault(skill.long_name, skill)

    @property
    def reachable(self) -> Sequence[Skill]:
        """Those that are meant by their names, in the order in which they were found."""
        return tuple(skill for skill in self.all if self._by_name[skill.name] is skill)

    def other_names(self, skill: Skill) -> tuple[str, ...]:
        """By what else it may be called: without the plugin's name, with the directories it lies in."""
        return tuple(
            name
            for name in (self.short_name(skill), skill.long_name)
            if name and name != skill.name and self.named(name) is skill
        )

    def named(self, name: str) -> Skill | None:
        """The skill of this name; one of a plugin also without the plugin's, if nothing else has it."""
        return self._by_name.get(name) or self._by_short_name.get(name)

    def short_name(self, skill: Skill) -> str:
        """The name without the plugin's, if it means this skill; otherwise nothing."""
        short = skill.name.partition(":")[2] if skill.plugin else ""
        return short if self._by_short_name.get(short) is skill else ""

    def hidden_by(self, skill: Skill) -> Skill | None:
        """The skill that is meant by the name of this one, if it is another."""
        meant = self._by_name[skill.name]
        return None if meant is skill else meant


def _told_apart(found: Iterable[Skill]) -> Iterator[Skill]:
    """Of two commands of one name the later one is called by its directories, too, as far as it lies in some."""
    taken: set[str] = set()
    for skill in found:
        is_taken = skill.name in taken
        told = msgspec.structs.replace(skill, name=skill.long_name) if is_taken and skill.long_name else skill
        taken.add(told.name)
        yield told


def _short_names(by_name: Mapping[str, Skill]) -> dict[str, Skill]:
    """The names of plugins' skills without the plugins', where one skill alone has it."""
    found: dict[str, list[Skill]] = {}
    for name, skill in by_name.items():
        if skill.plugin:
            found.setdefault(name.partition(":")[2], []).append(skill)
    return {short: skills[0] for short, skills in found.items() if len(skills) == 1 and short not in by_name}


class SkillFinder:
    """Finds the skills as they are now. A file whose version is known is not read again."""

    def __init__(
        self,
        files: Callable[[SkillPlace], Iterable[SkillSource]],
        cache: Path,
        places: Sequence[SkillPlace] = PLACES,
    ) -> None:
        """`files` gives what lies in a place; `cache` is a file of ours for what was read in earlier sessions."""
        self._files = files
        self._places = places
        self._cache = cache
        self._known: dict[str, Skill] | None = None
        self._found: dict[str, SkillSource] = {}

    def library(self) -> SkillLibrary:
        """Every skill there is, the first of a name first."""
        known = self._known if self._known is not None else cached_skills(self._cache)
        now: dict[str, Skill] = {}
        for place in self._places:
            for found in self._files(place):
                key = f"{READING} {place.directory} {found.path} {found.version}"
                skill = known.get(key) or read_skill(place, found)
                if skill is not None:
                    now[key] = skill
                    self._found[found.path] = found
        if len(now.keys() - known.keys()) >= WORTH_CACHING:
            keep_skills(self._cache, now)
        self._known = now
        return SkillLibrary(now.values())

    def text(self, skill: Skill) -> str:
        """The instructions of a skill of the library, as they stand in its file now."""
        text = _text_of(self._found[skill.path])
        if skill.path.endswith(TOML):
            from robota.knowledge.skills.gemini_command import gemini_front_matter

            return gemini_front_matter(text).text
        return read_front_matter(text).text

    def template(self, skill: Skill) -> "tuple[Part, ...]":
        """The instructions of a skill, taken apart as its kind of file wants it."""
        # Loaded with the first skill that is used.
        from robota.knowledge.skills.gemini_command import parse_gemini_prompt
        from robota.knowledge.skills.template import parse_template

        parse = parse_gemini_prompt if skill.path.endswith(TOML) else parse_template
        return parse(self.text(skill))


def read_skill(place: SkillPlace, found: SkillSource) -> Skill | None:
    """What a file of a place says of a skill; None if it is no file of a skill."""
    file = _skill_file(place, found)
    if file is None:
        return None
    text = _text_of(found)
    if file.path.endswith(TOML):
        from robota.knowledge.skills.gemini_command import gemini_front_matter

        return skill_from(file, gemini_front_matter(text))
    return skill_from(file, read_front_matter(text))


def files_of_person(directory: Path) -> Iterator[SkillSource]:
    """The files of a person's own directory, in the order of their names; links are theirs to set."""
    top = str(directory)
    for path in islice(_walk(top, DEEPEST), MOST_FILES):
        try:
            status = Path(path).stat()
        except OSError:
            continue
        version = f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"
        yield SkillSource(path[len(top) + 1 :], path, version, partial(_read, path))


def _walk(directory: str, depth: int) -> Iterator[str]:
    # A directory with a skill in it is not looked into any further.
    if os.path.lexists(skill := f"{directory}/{SKILL_FILE}"):
        yield skill
        return
    try:
        with os.scandir(directory) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if not _is_directory(entry):
            yield entry.path
        elif depth > 0 and not entry.name.startswith("."):
            yield from _walk(entry.path, depth - 1)


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _read(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, LONGEST_FILE + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _skill_file(place: SkillPlace, found: SkillSource) -> SkillFile | None:
    *directories, name = found.relative.split("/")
    long_name = ""
    if place.kind is SkillKind.SKILL:
        if name != SKILL_FILE or not directories:
            return None
        own_name = directories[-1]
    else:
        stem, dot, suffix = name.rpartition(".")
        if not dot or suffix not in ("md", "toml"):
            return None
        long_name = ":".join((*directories, stem))
        own_name = long_name if suffix == "toml" else stem
    return SkillFile(
        name=own_name,
        kind=place.kind,
        scope=place.scope,
        path=found.path,
        plugin=place.plugin,
        long_name=long_name if is_usable_name(long_name) and long_name != own_name else "",
    )


def _text_of(found: SkillSource) -> str:
    data = found.data()
    if data is None or len(data) > LONGEST_FILE:
        return ""
    return data.decode("utf-8", "replace")
