"""A skill or prompt command, and how it is read from the front matter of its file."""

from enum import StrEnum
from typing import Any, Final

import msgspec

from robota.knowledge.front_matter import FALSE_WORDS, TRUE_WORDS, FrontMatter

MAX_DESCRIPTION: Final = 1536
MAX_NAME: Final = 64
# Only Claude Code knows which models they currently refer to.
CLAUDE_MODEL_ALIASES: Final = ("sonnet", "opus", "haiku", "fable", "opusplan")


class SkillScope(StrEnum):
    """Where a skill comes from."""

    PROJECT = "project"
    USER = "user"
    PLUGIN = "plugin"


class SkillKind(StrEnum):
    SKILL = "skill"  # a directory with SKILL.md, which the model may use on its own
    COMMAND = "command"  # a single Markdown or TOML file, which users type


class SkillContext(StrEnum):
    """In which task the instructions run."""

    INLINE = "inline"
    FORK = "fork"  # in a subtask that returns only its answer


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of a skill. `problems` names the fields of its file that were ignored.

    The name of a plugin's skill is `plugin:name`.
    """

    name: str
    kind: SkillKind
    scope: SkillScope
    path: str
    description: str
    when_to_use: str = ""
    argument_hint: str = ""
    arguments: tuple[str, ...] = ()  # the names of positional arguments
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    context: SkillContext = SkillContext.INLINE
    model: str | None = None
    max_turns: int | None = None
    user_invocable: bool = True
    model_invocable: bool = True
    plugin: str = ""
    qualified_name: str = ""  # with its directories (`git:commit`); empty if it has none
    problems: tuple[str, ...] = ()


class SkillFile(msgspec.Struct, frozen=True, kw_only=True):
    """What the path of a file says about its skill."""

    name: str  # the name of its directory or file
    kind: SkillKind
    scope: SkillScope
    path: str
    plugin: str = ""
    qualified_name: str = ""


def skill_from(file: SkillFile, matter: FrontMatter) -> Skill:
    """Build a skill from the front matter of its file. Invalid fields are ignored and listed in `problems`."""
    fields = _Fields(matter.fields)
    problems = [] if matter.problem is None else [matter.problem]
    name = fields.text("name") if file.kind is SkillKind.SKILL else ""
    if not is_usable_name(name or file.name):
        problems.append(f"the name {name or file.name!r} is not a valid command name")
        name = ""
    user_invocable, model_invocable = fields.invocation()
    context = fields.context()
    is_described = file.kind is SkillKind.SKILL or bool(fields.text("description"))
    return Skill(
        name=f"{file.plugin}:{name or file.name}" if file.plugin else name or file.name,
        kind=file.kind,
        scope=file.scope,
        path=file.path,
        description=(fields.text("description") or _first_line(matter.text))[:MAX_DESCRIPTION],
        when_to_use=fields.text("when_to_use")[:MAX_DESCRIPTION],
        argument_hint=fields.hint("argument-hint"),
        arguments=fields.words("arguments"),
        allowed_tools=fields.words("allowed-tools"),
        disallowed_tools=fields.words("disallowed-tools"),
        context=context,
        model=fields.model(),
        max_turns=fields.number("max-turns"),
        user_invocable=user_invocable,
        model_invocable=model_invocable and is_described,
        plugin=file.plugin,
        qualified_name=f"{file.plugin}:{file.qualified_name}"
        if file.plugin and file.qualified_name
        else file.qualified_name,
        problems=(*problems, *fields.problems(), *fields.without_effect_in(context)),
    )


def is_usable_name(name: str) -> bool:
    """Whether a name can be typed after a slash: printable, without spaces, slashes and quotes, not too long."""
    return 0 < len(name) <= MAX_NAME and name.isprintable() and not any(c in "/ \\`\"'<>" for c in name)


class _Fields:
    """Reads the fields of a front matter by type, and collects those that are invalid or unknown."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields
        self._read: set[str] = set()
        self._invalid: list[str] = []

    def text(self, key: str) -> str:
        value = self._take(key)
        if isinstance(value, str):
            return " ".join(value.split())
        if value is None:
            return ""
        if isinstance(value, bool | list | dict):
            self._invalid.append(f"{key} is not text")
            return ""
        return str(value)

    def hint(self, key: str) -> str:
        """A text. `[file]`, a list in YAML, is returned as it was written."""
        value = self._take(key)
        return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else self.text(key)

    def words(self, key: str) -> tuple[str, ...]:
        """A list, or words separated by spaces or commas; parentheses keep `Bash(git add *)` together."""
        value = self._take(key)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        if isinstance(value, str):
            return _words(value)
        if value is not None:
            self._invalid.append(f"{key} is not a list of words")
        return ()

    def flag(self, key: str, default: bool) -> bool:
        value = self._take(key)
        word = str(value).lower()
        if word in TRUE_WORDS | FALSE_WORDS:
            return word in TRUE_WORDS
        if value is not None:
            self._invalid.append(f"{key} is neither yes nor no")
        return default

    def number(self, key: str) -> int | None:
        value = self._take(key)
        if value is None:
            return None
        if str(value).isascii() and str(value).isdecimal() and int(value) > 0:
            return int(value)
        self._invalid.append(f"{key} is not a number")
        return None

    def model(self) -> str | None:
        """The model to use; None for the model of the session."""
        name = self.text("model")
        if name in CLAUDE_MODEL_ALIASES:
            self._invalid.append(f"the model {name} is an alias of Claude Code and has no effect")
        return None if name in ("", "inherit", *CLAUDE_MODEL_ALIASES) else name

    def context(self) -> SkillContext:
        value = self.text("context")
        if value in ("fork", "agent"):
            return SkillContext.FORK
        if value not in ("", "inline"):
            self._invalid.append(f"context {value!r} is not known")
        return SkillContext.INLINE

    def invocation(self) -> tuple[bool, bool]:
        """Whether users and whether the model may use it, from the two fields of Claude Code or the one of Robota."""
        user_invocable = self.flag("user-invocable", default=True)
        model_invocable = not self.flag("disable-model-invocation", default=False)
        match self.text("invocation"):
            case "user":
                return True, False
            case "model-only":
                return False, True
            case "" | "auto-invoke":
                return user_invocable, model_invocable
            case other:
                self._invalid.append(f"invocation {other!r} is not known")
                return user_invocable, model_invocable

    def problems(self) -> tuple[str, ...]:
        unknown = sorted(set(self._fields) - self._read - INFORMATIVE_FIELDS)
        return (*self._invalid, *(f"the field {key} has no effect" for key in unknown))

    def without_effect_in(self, context: SkillContext) -> tuple[str, ...]:
        """Problems with fields that only a subtask has."""
        if context is SkillContext.FORK:
            return ()
        return tuple(
            f"the field {key} applies only with context: fork" for key in FORK_ONLY_FIELDS if key in self._fields
        )

    def _take(self, key: str) -> Any:
        self._read.add(key)
        return self._fields.get(key)


FORK_ONLY_FIELDS: Final = ("model", "max-turns")
# Fields without effect that are not worth a warning.
INFORMATIVE_FIELDS: Final = frozenset({"license", "compatibility", "metadata", "version", "author", "name"})


def _words(text: str) -> tuple[str, ...]:
    words, word, depth = [], "", 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth <= 0 and (character.isspace() or character == ","):
            words.append(word)
            word = ""
        else:
            word += character
    return tuple(entry for entry in (*words, word) if entry)


def _first_line(text: str) -> str:
    line = next((line.strip("# \t") for line in text.splitlines() if line.strip("# \t")), "")
    return line[:100]
