"""Finds and reads the files of skills and prompt commands."""

import codecs
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from robota.knowledge.front_matter import FrontMatter, read_front_matter
from robota.knowledge.skills.library import SkillLibrary
from robota.knowledge.skills.skill import Skill, SkillFile, SkillKind, SkillScope, is_usable_name, skill_from

if TYPE_CHECKING:
    from robota.config.trust.sources import ConfigSource
    from robota.knowledge.skills.template import Part

import contextlib

from robota.config.durable_file import read_file
from robota.config.transaction import transaction
from robota.config.trust.sources import SKILL_HOLDERS

MAX_FILE_BYTES: Final = 256 * 1024
MAX_FILES: Final = 2_000
MAX_DEPTH: Final = 4
SKILL_FILE: Final = "SKILL.md"
TOML: Final = ".toml"
MIN_NEW_SKILLS_TO_CACHE: Final = 20
# Part of every cache key: increment it when `Skill` or its parsing changes.
CACHE_VERSION: Final = 5


class SkillDirectory(msgspec.Struct, frozen=True):
    """A directory for skills or commands, relative to the workspace, the user's home or a plugin."""

    scope: SkillScope
    path: str
    kind: SkillKind
    plugin: str = ""


OWN, SHARED = SKILL_HOLDERS[:2], SKILL_HOLDERS[2:]
# In order of precedence: project before user, and directories that are shared with other agents last.
SKILL_DIRECTORIES: Final = tuple(
    SkillDirectory(scope, f"{owner}/{kind}s", kind)
    for scope, owners in (
        (SkillScope.PROJECT, OWN),
        (SkillScope.USER, OWN),
        (SkillScope.PROJECT, SHARED),
        (SkillScope.USER, SHARED),
    )
    for owner in owners
    for kind in SkillKind
)


class SkillSource(msgspec.Struct, frozen=True):
    """A file in a `SkillDirectory`, not read yet.

    `relative` is its path below the directory, `version` changes whenever the content may have changed, `data` reads
    it, or returns None if it cannot be read.
    """

    relative: str
    path: str
    version: str
    data: Callable[[], bytes | None]

    @classmethod
    def from_snapshot(cls, relative: str, path: str, source: "ConfigSource") -> "SkillSource":
        """A file with the content of a snapshot that the user trusted or agreed to."""
        return cls(relative, path, source.digest, lambda: source.data)


class SkillFinder:
    """Reads the skills of all directories. A file whose version is unchanged is not read again."""

    def __init__(
        self,
        files: Callable[[SkillDirectory], Iterable[SkillSource]],
        cache: Path,
        directories: Sequence[SkillDirectory] = SKILL_DIRECTORIES,
    ) -> None:
        """`files` lists the files of a directory; `cache` is the file that keeps parsed skills between sessions."""
        self._files = files
        self._directories = directories
        self._cache = cache
        self._known: dict[str, Skill] | None = None
        self._found: dict[str, SkillSource] = {}
        self.cut_directories: tuple[str, ...] = ()  # directories of which only the first files were read

    def library(self) -> SkillLibrary:
        """All skills as they are on disk now."""
        cached = self._known if self._known is not None else load_skill_cache(self._cache)
        current: dict[str, Skill] = {}
        cut: list[str] = []
        for directory in self._directories:
            for number, source in enumerate(self._files(directory), 1):
                if number == MAX_FILES:
                    cut.append(directory.path)
                key = f"{CACHE_VERSION} {directory.path} {source.path} {source.version}"
                skill = cached.get(key) or read_skill(directory, source)
                if skill is not None:
                    current[key] = skill
                    self._found[source.path] = source
        if len(current.keys() - cached.keys()) >= MIN_NEW_SKILLS_TO_CACHE:
            save_skill_cache(self._cache, current)
        self._known, self.cut_directories = current, tuple(cut)
        return SkillLibrary(current.values())

    def text(self, skill: Skill) -> str:
        """The current instructions of a skill of the library, without front matter; empty if its file is gone."""
        return _parsed(skill.path, _text_of(self._found[skill.path])).text

    def template(self, skill: Skill) -> "tuple[Part, ...]":
        """The instructions of a skill, parsed in the syntax of its file type."""
        # Loaded with the first skill that is used.
        from robota.knowledge.skills.gemini_command import parse_gemini_prompt
        from robota.knowledge.skills.template import parse_template

        parse = parse_gemini_prompt if skill.path.endswith(TOML) else parse_template
        return parse(self.text(skill))


def read_skill(directory: SkillDirectory, source: SkillSource) -> Skill | None:
    """Parse the skill in a file; None if the file is not one that defines a skill or command."""
    file = _skill_file(directory, source)
    if file is None:
        return None
    data = source.data()
    if data is None or len(data) > MAX_FILE_BYTES:
        why = "it cannot be read" if data is None else f"it is longer than {MAX_FILE_BYTES:,} bytes"
        return skill_from(file, FrontMatter(fields={}, text="", problem=why))
    return skill_from(file, _parsed(file.path, _decoded(data)))


def _parsed(path: str, text: str) -> FrontMatter:
    if not path.endswith(TOML):
        return read_front_matter(text)
    from robota.knowledge.skills.gemini_command import gemini_front_matter

    return gemini_front_matter(text)


def user_skill_files(directory: Path) -> Iterator[SkillSource]:
    """The files in a directory of the user or of a plugin, by name. Symbolic links are followed."""
    top = str(directory)
    for path in islice(_walk(top, MAX_DEPTH), MAX_FILES):
        try:
            status = Path(path).stat()
        except OSError:
            continue
        version = f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"
        yield SkillSource(path[len(top) + 1 :], path, version, partial(_read, path))


def _walk(directory: str, depth: int) -> Iterator[str]:
    # Files beside or below a SKILL.md belong to that skill.
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
        return os.read(descriptor, MAX_FILE_BYTES + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _skill_file(directory: SkillDirectory, source: SkillSource) -> SkillFile | None:
    *directories, name = source.relative.split("/")
    qualified_name = ""
    if directory.kind is SkillKind.SKILL:
        if name != SKILL_FILE or not directories:
            return None
        own_name = directories[-1]
    else:
        stem, dot, suffix = name.rpartition(".")
        if not dot or suffix not in ("md", "toml") or name.startswith("."):
            return None
        qualified_name = ":".join((*directories, stem))
        own_name = qualified_name if suffix == "toml" else stem
    return SkillFile(
        name=own_name,
        kind=directory.kind,
        scope=directory.scope,
        path=source.path,
        plugin=directory.plugin,
        qualified_name=qualified_name if is_usable_name(qualified_name) and qualified_name != own_name else "",
    )


def _text_of(source: SkillSource) -> str:
    data = source.data()
    if data is None or len(data) > MAX_FILE_BYTES:
        return ""
    return _decoded(data)


def _decoded(data: bytes) -> str:
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if is_wide else "utf-8", "replace")


def load_skill_cache(path: Path) -> dict[str, Skill]:
    """The cached skills, by the key of `SkillFinder`; empty if the cache is missing or damaged."""
    try:
        return msgspec.json.decode(read_file(path), type=dict[str, Skill])
    except (OSError, msgspec.MsgspecError, ValueError):
        return {}


def save_skill_cache(path: Path, skills: dict[str, Skill]) -> None:
    """Replace the cache. A failure is ignored: the cache is an optimisation."""
    with contextlib.suppress(OSError), transaction(path.parent) as files:
        files.write(path.name, msgspec.json.encode(skills))
