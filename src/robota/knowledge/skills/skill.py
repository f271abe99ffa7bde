"""A skill or prompt command, and how it is read from the front matter of its file."""

from enum import StrEnum
from typing import Final

import msgspec

from robota.knowledge.fields import Fields
from robota.knowledge.front_matter import FrontMatter
from robota.protocol.slash_commands import CommandSource

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

    @property
    def command_source(self) -> CommandSource:
        """Who brought its slash command. The scopes are named like the sources."""
        is_own = self.kind is SkillKind.SKILL and not self.plugin
        return CommandSource.SKILL if is_own else CommandSource(self.scope)


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


class _Fields(Fields):
    """Reads the fields of a skill."""

    def hint(self, key: str) -> str:
        """A text. `[file]`, a list in YAML, is returned as it was written."""
        value = self.take(key)
        return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else self.text(key)

    def model(self) -> str | None:
        """The model to use; None for the model of the session."""
        name = self.text("model")
        if name in CLAUDE_MODEL_ALIASES:
            self.invalid.append(f"the model {name} is an alias of Claude Code and has no effect")
        return None if name in ("", "inherit", *CLAUDE_MODEL_ALIASES) else name

    def context(self) -> SkillContext:
        value = self.text("context")
        if value in ("fork", "agent"):
            return SkillContext.FORK
        if value not in ("", "inline"):
            self.invalid.append(f"context {value!r} is not known")
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
                self.invalid.append(f"invocation {other!r} is not known")
                return user_invocable, model_invocable

    def problems(self) -> tuple[str, ...]:
        unknown = sorted(set(self.fields) - self.read - INFORMATIVE_FIELDS)
        return (*self.invalid, *(f"the field {key} has no effect" for key in unknown))

    def without_effect_in(self, context: SkillContext) -> tuple[str, ...]:
        """Problems with fields that only a subtask has."""
        if context is SkillContext.FORK:
            return ()
        return tuple(
            f"the field {key} applies only with context: fork" for key in FORK_ONLY_FIELDS if key in self.fields
        )


FORK_ONLY_FIELDS: Final = ("max-turns",)
# Fields without effect that are not worth a warning.
INFORMATIVE_FIELDS: Final = frozenset({"license", "compatibility", "metadata", "version", "author", "name"})


def _first_line(text: str) -> str:
    line = next((line.strip("# \t") for line in text.splitlines() if line.strip("# \t")), "")
    return line[:100]
