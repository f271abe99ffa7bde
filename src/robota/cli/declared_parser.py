"""Adds declared arguments to an argparse parser."""

import argparse
from collections.abc import Callable
from typing import Any

from robota.config.arguments import Kind, OptionArgument, PositionalArgument, RestOfLine, ValuesOption


def add_positional(parser: argparse.ArgumentParser, argument: PositionalArgument) -> None:
    """Add an argument without a name."""
    is_many = isinstance(argument.how, RestOfLine) or argument.is_repeatable
    parser.add_argument(
        argument.name,
        nargs=("+" if is_many else None) if argument.is_required else "*" if is_many else "?",
        metavar=argument.how.metavar,
        help=argument.how.help,
        choices=argument.choices or None,
        type=_converter(argument.kind),
    )


def add_option(parser: Any, argument: OptionArgument) -> None:
    """Add an option to a parser, or to a group of one.

    Options that are not given are not in the result, except for flags.
    """
    if argument.is_flag:
        action = "store_false" if argument.is_on else "store_true"
        parser.add_argument(*argument.flags, dest=argument.name, action=action, help=argument.how.help)
        return
    metavar = argument.how.metavar.strip("[]") or None
    values: dict[str, Any] = {"nargs": "?", "const": ""} if argument.how.metavar.startswith("[") else {}
    if isinstance(argument.how, ValuesOption):
        values = {"nargs": "+"}
    elif argument.is_repeatable:
        values = {"action": "append"}
    parser.add_argument(
        *argument.flags,
        dest=argument.name,
        default=argparse.SUPPRESS,
        required=argument.is_required,
        metavar=metavar,
        help=argument.how.help or None,
        choices=argument.choices or None,
        type=_converter(argument.kind),
        **values,
    )


def _converter(kind: Kind) -> Callable[[str], Any]:
    """A function that argparse calls with a text; its name is part of the message about a wrong one."""

    def convert(text: str) -> Any:
        return kind.read(text)

    convert.__name__ = kind.value
    return convert
