"""The arguments of a verb: what its struct declares, and how they are written."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from robota.commands.verb import Family, Option, Positional, Verb, WrongArguments

Arguments = TypeVar("Arguments", bound=msgspec.Struct)


class DeclaredArgument(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the arguments, and what its values may be."""

    name: str
    choices: tuple[str, ...] = ()
    is_number: bool = False
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

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"

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
        return tuple(each for each in self.options if not (each.how.only_in_shell or each.how.hidden))


def declared(arguments: type[msgspec.Struct]) -> Declared:
    """What a struct declares."""
    hints = get_type_hints(arguments, include_extras=True)
    required = {field.name for field in msgspec.structs.fields(arguments) if field.required}
    found = [_argument(name, hints[name], is_required=name in required) for name in arguments.__struct_fields__]
    return Declared(
        positionals=tuple(each for each in found if isinstance(each, PositionalArgument)),
        options=tuple(each for each in found if isinstance(each, OptionArgument)),
    )


def _argument(name: str, hint: Any, *, is_required: bool) -> PositionalArgument | OptionArgument:
    kind, how = get_args(hint)
    if type(None) in get_args(kind):
        kind = next(each for each in get_args(kind) if each is not type(None))
    is_repeatable = get_origin(kind) is tuple
    kind = get_args(kind)[0] if is_repeatable else kind
    about: dict[str, Any] = {
        "name": name,
        "how": how,
        "choices": _choices(kind),
        "is_number": kind is int,
        "is_repeatable": is_repeatable,
        "is_required": is_required,
    }
    return PositionalArgument(**about) if isinstance(how, Positional) else OptionArgument(**about, is_flag=kind is bool)


def _choices(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(str(each.value) for each in kind) if isinstance(kind, type) and issubclass(kind, Enum) else ()


def hint_of(verb: Verb[Any] | Family) -> str:
    """What may follow the verb in a slash command."""
    if isinstance(verb, Family):
        return verb.hint or f"[{' | '.join(each.name for each in verb.listed)}]"
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
        if each.is_number and not all(text.isascii() and text.isdecimal() for text in texts):
            raise WrongArguments(f"{each.label} must be a number.")
    return msgspec.convert(values, arguments, strict=False)
