"""The arguments of a verb: what its struct declares, and how they are written."""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import FieldInfo

from robota.commands.verb import Count, Family, HiddenOption, Option, Positional, ShellOption, Verb, WrongArguments

Arguments = TypeVar("Arguments", bound=msgspec.Struct)


class Kind(Enum):
    """What a value is, as messages name it."""

    TEXT = "text"
    COUNT = "number from 1"
    WHOLE_NUMBER = "whole number"
    NUMBER = "number"

    def is_valid(self, text: str) -> bool:
        """Whether the text is such a value."""
        if self is Kind.NUMBER:
            return re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) is not None
        return self is Kind.TEXT or (text.isascii() and text.isdecimal() and (self is not Kind.COUNT or int(text) > 0))


class DeclaredArgument(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the arguments, and what its values may be."""

    name: str
    choices: tuple[str, ...] = ()
    kind: Kind = Kind.TEXT
    is_repeatable: bool = False
    is_required: bool = False


KINDS: Final[Mapping[Any, Kind]] = {int: Kind.WHOLE_NUMBER, float: Kind.NUMBER}


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
        return f"--{'no-' * self.is_on}{self.name.rstrip('_').replace('_', '-')}"

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


def _argument(field: FieldInfo, hint: Any) -> PositionalArgument | OptionArgument:
    *types, how = get_args(hint)
    type_ = types[0]
    if type(None) in get_args(type_):
        type_ = next(each for each in get_args(type_) if each is not type(None))
    is_repeatable = get_origin(type_) is tuple
    type_ = get_args(type_)[0] if is_repeatable else type_
    is_count = type_ == Count or len(types) > 1
    about: dict[str, Any] = {
        "name": field.name,
        "how": how,
        "choices": _choices(type_),
        "kind": Kind.COUNT if is_count else KINDS.get(type_, Kind.TEXT),
        "is_repeatable": is_repeatable,
        "is_required": field.required,
    }
    if isinstance(how, Positional):
        return PositionalArgument(**about)
    return OptionArgument(**about, is_flag=type_ is bool, is_on=field.default is True)


def _choices(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(str(each.value) for each in kind) if isinstance(kind, type) and issubclass(kind, Enum) else ()


def hint_of(verb: Verb[Any] | Family) -> str:
    """What may follow the verb in a slash command."""
    if isinstance(verb, Family):
        names = " | ".join(each.name for each in verb.in_conversation)
        return verb.hint or (f"[{names}]" if verb.main is None else hint_of(verb.main))
    if verb.hint is not None:
        return verb.hint
    found = declared(verb.arguments)
    flags = [each.usage for each in found.typed_options if each.is_flag]
    values = [each.usage for each in found.typed_options if not each.is_flag]
    return " ".join((*flags, *(each.usage for each in found.positionals), *values))


def written(arguments: msgspec.Struct) -> list[str]:
    """The words that give these arguments."""
    found = declared(type(arguments))
    defaults = {each.name: each.default for each in msgspec.structs.fields(type(arguments))}
    words = [
        str(value) for each in found.positionals if (value := getattr(arguments, each.name)) != defaults[each.name]
    ]
    for option in found.options:
        value = getattr(arguments, option.name)
        if value == defaults[option.name]:
            continue
        values = value if isinstance(value, tuple) else (value,)
        words += [option.flag] if option.is_flag else [word for each in values for word in (option.flag, str(each))]
    return words


def make_arguments(arguments: type[Arguments], values: Mapping[str, Any]) -> Arguments:
    """The struct from texts, flags and lists of texts. Raises `WrongArguments`."""
    for each in declared(arguments).all:
        value = values.get(each.name, ())
        texts: Sequence[str] = value if isinstance(value, list) else [value] if isinstance(value, str) else ()
        if each.choices and not set(texts) <= set(each.choices):
            raise WrongArguments(f"{each.label} must be one of {', '.join(each.choices)}.")
        if not all(map(each.kind.is_valid, texts)):
            raise WrongArguments(f"{each.label} must be a {each.kind.value}.")
    return msgspec.convert(values, arguments, strict=False)
