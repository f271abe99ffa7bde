"""How a field of a struct is given on a command line, and what its type says about the values.

The options of `robota` itself and the arguments of verbs are declared in the same way:

    model: Annotated[str | None, Option("model to use", "MODEL")] = None
"""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import FieldInfo

if TYPE_CHECKING:
    from robota.protocol.slash_commands import SubcommandInfo

# Called with the `VerbHost` of the verb.
Complete = Callable[[Any], "Iterable[SubcommandInfo]"]


class Positional(msgspec.Struct, frozen=True):
    """An argument without a name. `complete` lists its values; it runs in a thread and may read files."""

    metavar: str
    help: str | None = None
    complete: Complete | None = None


class RestOfLine(Positional, frozen=True):
    """The last positional argument: several words. In a slash command, it is the rest of the line as typed."""


class ShellCommand(RestOfLine, frozen=True):
    """A shell command: in a shell, words that are quoted again and may follow `--`."""


class ProgramLine(Positional, frozen=True):
    """A URL, or a program with its arguments: from the first word of the program on, everything belongs to it."""


class Option(msgspec.Struct, frozen=True):
    """An argument with a name: a flag if it is a bool, repeatable if it is a tuple.

    The value of a `metavar` in brackets can be omitted; then it is empty. At most one option of a `group` can be given.
    `also` are other spellings. `name` replaces that of the field.
    """

    help: str = ""
    metavar: str = ""
    also: tuple[str, ...] = ()
    group: str = ""
    name: str = ""


class ChangingOption(Option, frozen=True):
    """An option with which a verb that otherwise only shows something changes something."""


class ShellOption(Option, frozen=True):
    """An option that only the sub-command has."""


class HiddenOption(Option, frozen=True):
    """An option of the slash command that no help mentions: lines that the program offers use it."""


class TextOption(Option, frozen=True):
    """An option whose value, in a slash command, is the rest of the line as typed."""


class ListOption(Option, frozen=True):
    """A repeatable option. In a slash command, its values can also follow `--`."""


class ValuesOption(ShellOption, frozen=True):
    """An option that takes several values at once, and that only the sub-command has."""


# A number from 1.
Count = Annotated[int, msgspec.Meta(ge=1)]
# US dollars.
Money = Annotated[float, msgspec.Meta(gt=0)]


class Kind(Enum):
    """The kind of a value, as messages name it."""

    TEXT = "text"
    PATH = "path"
    COUNT = "number from 1"
    WHOLE_NUMBER = "whole number"
    NUMBER = "number"
    MONEY = "amount of money"

    def is_valid(self, text: str) -> bool:
        """Whether the text is such a value."""
        try:
            self.read(text)
        except ValueError:
            return False
        return True

    def read(self, text: str) -> str | int | float | Path:
        """Parse a value. Raises ValueError."""
        match self:
            case Kind.TEXT:
                return text
            case Kind.PATH:
                return Path(text)
            case Kind.NUMBER | Kind.MONEY if re.fullmatch(r"[0-9]*\.?[0-9]+", text):
                return _above(float(text), 0 if self is Kind.MONEY else -1)
            case Kind.COUNT | Kind.WHOLE_NUMBER if text.isascii() and text.isdecimal():
                return _above(int(text), 0 if self is Kind.COUNT else -1)
            case _:
                raise ValueError(text)


def _above(number: float, limit: int) -> float:
    if number <= limit:
        raise ValueError(number)
    return number


KINDS: Final[Mapping[Any, Kind]] = {
    int: Kind.WHOLE_NUMBER,
    float: Kind.NUMBER,
    Path: Kind.PATH,
    Count: Kind.COUNT,
    Money: Kind.MONEY,
}


class DeclaredArgument(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the arguments, and what its values may be."""

    name: str
    choices: tuple[str, ...] = ()
    kind: Kind = Kind.TEXT
    is_repeatable: bool = False
    is_required: bool = False


class PositionalArgument(DeclaredArgument, frozen=True, kw_only=True):
    """A field that is given without a name."""

    how: Positional

    @property
    def usage(self) -> str:
        return self.how.metavar if self.is_required else f"[{self.how.metavar}]"

    @property
    def label(self) -> str:
        return self.how.metavar

    @property
    def description(self) -> str:
        return f"the {self.name.replace('_', ' ')}" + (f": {self.how.help}" if self.how.help else "")


class OptionArgument(DeclaredArgument, frozen=True, kw_only=True):
    """A field that is given by name."""

    how: Option
    is_flag: bool
    is_on: bool = False  # a flag that is on unless `--no-…` is given

    @property
    def flag(self) -> str:
        return self.how.name or f"--{'no-' * self.is_on}{self.name.rstrip('_').replace('_', '-')}"

    @property
    def flags(self) -> tuple[str, ...]:
        """All spellings; those of one letter come first."""
        return tuple(sorted((self.flag, *self.how.also), key=lambda flag: len(flag) > 2))

    @property
    def usage(self) -> str:
        usage = f"{self.flag} {self.metavar}".strip()
        return usage if self.is_required else f"[{usage}]"

    @property
    def label(self) -> str:
        return self.how.metavar or self.flag

    @property
    def description(self) -> str:
        return f"{self.flag} {self.metavar}"

    @property
    def metavar(self) -> str:
        return "" if self.is_flag else self.how.metavar or "|".join(self.choices)


class Declared(msgspec.Struct, frozen=True):
    """The fields of the arguments, in their order."""

    positionals: tuple[PositionalArgument, ...]
    options: tuple[OptionArgument, ...]

    @property
    def all(self) -> tuple[PositionalArgument | OptionArgument, ...]:
        return (*self.positionals, *self.options)

    @property
    def typed_options(self) -> tuple[OptionArgument, ...]:
        """The options that a slash command offers."""
        return tuple(each for each in self.options if not isinstance(each.how, ShellOption | HiddenOption))


def declared(arguments: type[msgspec.Struct]) -> Declared:
    """What a struct declares."""
    hints = get_type_hints(arguments, include_extras=True)
    every = [_argument(field, hints[field.name]) for field in msgspec.structs.fields(arguments)]
    return Declared(
        positionals=tuple(each for each in every if isinstance(each, PositionalArgument)),
        options=tuple(each for each in every if isinstance(each, OptionArgument)),
    )


def _argument(field: FieldInfo, hint: Any) -> PositionalArgument | OptionArgument | None:
    """The argument that a field is; None for a field that no command line gives."""
    *outer, how = getattr(hint, "__metadata__", (None,))
    if not isinstance(how, Positional | Option):
        return None
    # `Annotated[Count, Option(…)]` is one annotation with two metadata.
    type_ = Annotated[hint.__origin__, *outer] if outer else _without_none(hint.__origin__)
    is_repeatable = get_origin(type_) is tuple
    type_ = get_args(type_)[0] if is_repeatable else type_
    about: dict[str, Any] = {
        "name": field.name,
        "how": how,
        "choices": _choices(type_),
        "kind": KINDS.get(type_, Kind.TEXT),
        "is_repeatable": is_repeatable,
        "is_required": field.required,
    }
    if isinstance(how, Positional):
        return PositionalArgument(**about)
    return OptionArgument(**about, is_flag=type_ is bool, is_on=field.default is True)


def _without_none(type_: Any) -> Any:
    return next((each for each in get_args(type_) if type(None) in get_args(type_) and each is not type(None)), type_)


def _choices(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(str(each.value) for each in kind) if isinstance(kind, type) and issubclass(kind, Enum) else ()
