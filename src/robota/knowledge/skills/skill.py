"""A skill or a prompt command: what its file says of it."""

from enum import StrEnum
from typing import Any, Final

import msgspec

from robota.knowledge.front_matter import FrontMatter

LONGEST_DESCRIPTION: Final = 1536
LONGEST_NAME: Final = 64
TRUE: Final = frozenset({"true", "yes", "on", "1"})
FALSE: Final = frozenset({"false", "no", "off", "0"})


class SkillScope(StrEnum):
    """Whose it is."""

    PROJECT = "project"
    USER = "user"
    PLUGIN = "plugin"


class SkillKind(StrEnum):
    SKILL = "skill"  # a directory with SKILL.md; the model may use it by itself
    COMMAND = "command"  # a single file


class SkillContext(StrEnum):
    """Where its instructions are followed."""

    INLINE = "inline"
    FORK = "fork"  # in a task of its own, of which only the answer comes back


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a skill before it is used. `problems` says what of its file is not.

    The name of a plugin's skill is `plugin:name`.
    """

    name: str
    kind: SkillKind
    scope: SkillScope
    path: str
    description: str
    when_to_use: str = ""
    argument_hint: str = ""
    arguments: tuple[str, ...] = ()  # names, in the order of what is typed
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    context: SkillContext = SkillContext.INLINE
    model: str | None = None
    max_turns: int | None = None
    for_person: bool = True
    for_model: bool = True
    plugin: str = ""
    long_name: str = ""  # with the directories it lies in, if there are any
    problems: tuple[str, ...] = ()


class SkillFile(msgspec.Struct, frozen=True, kw_only=True):
    """Where a skill stands and whose it is."""

    name: str  # by its directory or file
    kind: SkillKind
    scope: SkillScope
    path: str
    plugin: str = ""
    long_name: str = ""


def skill_from(file: SkillFile, matter: FrontMatter) -> Skill:
    """A skill from the front matter of its file. What cannot be used is left out and named, never an error."""
    reader = _Fields(matter.fields)
    problems = [] if matter.problem is None else [matter.problem]
    name = reader.text("name") if file.kind is SkillKind.SKILL else ""
    if not is_usable_name(name or file.name):
        problems.append(f"the name {name!r} cannot be typed behind a slash")
        name = ""
    for_person, for_model = reader.invocation()
    context = reader.context()
    is_described = file.kind is SkillKind.SKILL or bool(reader.text("description"))
    return Skill(
        name=f"{file.plugin}:{name or file.name}" if file.plugin else name or file.name,
        kind=file.kind,
        scope=file.scope,
        path=file.path,
        description=(reader.text("description") or _first_words(matter.text))[:LONGEST_DESCRIPTION],
        when_to_use=reader.text("when_to_use")[:LONGEST_DESCRIPTION],
        argument_hint=reader.hint("argument-hint"),
        arguments=reader.words("arguments"),
        allowed_tools=reader.words("allowed-tools"),
        disallowed_tools=reader.words("disallowed-tools"),
        context=context,
        model=reader.text("model") or None,
        max_turns=reader.number("max-turns"),
        for_person=for_person,
        for_model=for_model and is_described,
        plugin=file.plugin,
        long_name=f"{file.plugin}:{file.long_name}" if file.plugin and file.long_name else file.long_name,
        problems=(*problems, *reader.problems(), *reader.without_effect_in(context)),
    )


def is_usable_name(name: str) -> bool:
    """Whether a name can be typed behind a slash: printable, without blanks and slashes."""
    return 0 < len(name) <= LONGEST_NAME and name.isprintable() and not any(c in "/ \\`\"'<>" for c in name)


class _Fields:
    """The fields of a front matter, each read as what it should be; the rest is reported."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields
        self._read: set[str] = set()
        self._wrong: list[str] = []

    def text(self, key: str) -> str:
        value = self._take(key)
        if isinstance(value, str):
            return " ".join(value.split())
        if value is None:
            return ""
        if isinstance(value, bool | list | dict):
            self._wrong.append(f"{key} is no text")
            return ""
        return str(value)

    def hint(self, key: str) -> str:
        """A text; `[file]`, which to YAML is a list, as it was written."""
        value = self._take(key)
        return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else self.text(key)

    def words(self, key: str) -> tuple[str, ...]:
        """A list, or words with blanks or commas between them; what stands in parentheses belongs together."""
        value = self._take(key)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        if isinstance(value, str):
            return _words(value)
        if value is not None:
            self._wrong.append(f"{key} is no list of words")
        return ()

    def flag(self, key: str, default: bool) -> bool:
        value = self._take(key)
        said = str(value).lower()
        if value is not None and said not in TRUE | FALSE:
            self._wrong.append(f"{key} is neither yes nor no")
        return said in TRUE if said in TRUE | FALSE else default

    def number(self, key: str) -> int | None:
        value = self._take(key)
        if value is None or isinstance(value, bool):
            return None
        if str(value).isascii() and str(value).isdecimal() and int(value) > 0:
            return int(value)
        self._wrong.append(f"{key} is no number")
        return None

    def context(self) -> SkillContext:
        value = self.text("context")
        if value in ("fork", "agent"):
            return SkillContext.FORK
        if value not in ("", "inline"):
            self._wrong.append(f"context {value!r} is not known")
        return SkillContext.INLINE

    def invocation(self) -> tuple[bool, bool]:
        """Whether a person and whether the model may use it: Claude Code's two fields, or the one of the seed."""
        for_person = self.flag("user-invocable", default=True)
        for_model = not self.flag("disable-model-invocation", default=False)
        match self.text("invocation"):
            case "user":
                return True, False
            case "model-only":
                return False, True
            case "" | "auto-invoke":
                return for_person, for_model
            case other:
                self._wrong.append(f"invocation {other!r} is not known")
                return for_person, for_model

    def problems(self) -> tuple[str, ...]:
        unknown = sorted(set(self._fields) - self._read - HARMLESS)
        return (*self._wrong, *(f"the field {key} has no effect" for key in unknown))

    def without_effect_in(self, context: SkillContext) -> tuple[str, ...]:
        """Fields that only a task of its own has."""
        if context is SkillContext.FORK:
            return ()
        return tuple(f"the field {key} counts only with context: fork" for key in OF_FORKS if key in self._fields)

    def _take(self, key: str) -> Any:
        self._read.add(key)
        return self._fields.get(key)


# Fields that need a task of its own.
OF_FORKS: Final = ("model", "max-turns")
# Fields that tell people something and ask for nothing.
HARMLESS: Final = frozenset({"license", "compatibility", "metadata", "version", "author", "name"})


def _words(text: str) -> tuple[str, ...]:
    words, word, depth = [], "", 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth <= 0 and (character.isspace() or character == ","):
            words.append(word)
            word = ""
        else:
            word += character
    return tuple(each for each in (*words, word) if each)


def _first_words(text: str) -> str:
    line = next((line.strip("# \t") for line in text.splitlines() if line.strip("# \t")), "")
    return line[:100]
