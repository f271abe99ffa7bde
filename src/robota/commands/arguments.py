"""The arguments of a verb: their usage, and how they are written and read."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from robota.commands.verb import Family, Verb, WrongArguments
from robota.config.arguments import declared

Arguments = TypeVar("Arguments", bound=msgspec.Struct)


def hint_of(verb: Verb[Any] | Family) -> str:
    """What may follow the verb in a slash command."""
    if isinstance(verb, Family):
        names = " | ".join(each.name for each in verb.in_conversation)
        return verb.hint or (f"[{names}]" if verb.main is None else hint_of(verb.main))
    if verb.hint is not None:
        return verb.hint
    fields = declared(verb.arguments)
    flags = [each.usage for each in fields.typed_options if each.is_flag]
    values = [each.usage for each in fields.typed_options if not each.is_flag]
    return " ".join((*flags, *(each.usage for each in fields.positionals), *values))


def written(arguments: msgspec.Struct) -> list[str]:
    """The words that give these arguments."""
    fields = declared(type(arguments))
    defaults = {each.name: each.default for each in msgspec.structs.fields(type(arguments))}
    words = [
        str(value) for each in fields.positionals if (value := getattr(arguments, each.name)) != defaults[each.name]
    ]
    for option in fields.options:
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
