"""The argument parser of a family of verbs, and of any sub-command."""

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from robota.cli.command_parser import CommandParser
from robota.cli.subcommands import SUBCOMMANDS
from robota.commands.arguments import OptionArgument, PositionalArgument, declared, make_arguments
from robota.commands.verb import Family, RestOfLine, Verb

Arguments = TypeVar("Arguments", bound=msgspec.Struct)


def subcommand_parser(name: str) -> CommandParser:
    """The argument parser of `robota NAME`."""
    module = import_module(SUBCOMMANDS[name][0])
    parser: CommandParser = family_parser(module.FAMILY) if hasattr(module, "FAMILY") else module.parser()
    return parser


def family_parser(family: Family) -> CommandParser:
    """The argument parser of a family. Every verb also has `--cwd` and `--json`."""
    shared = CommandParser(add_help=False)
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    shared.add_argument("--json", action="store_true", help="print JSON")
    parser = CommandParser(prog=f"robota {family.name}", description=family.about)
    _add_verbs(parser, family, shared)
    return parser


def _add_verbs(parser: argparse.ArgumentParser, family: Family, shared: CommandParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for verb in family.verbs:
        if isinstance(verb, Family):
            _add_verbs(actions.add_parser(verb.name, help=verb.description), verb, shared)
        elif not verb.only_in_conversation:
            below = actions.add_parser(verb.name, parents=[shared], help=verb.help)
            below.set_defaults(verb=verb)
            _add_arguments(below, verb)


def _add_arguments(parser: argparse.ArgumentParser, verb: Verb[Any]) -> None:
    found = declared(verb.arguments)
    groups: dict[str, Any] = {"": parser}
    for option in found.options:
        if not option.how.hidden:
            if option.how.group not in groups:
                groups[option.how.group] = parser.add_mutually_exclusive_group()
            _add_option(groups[option.how.group], option)
    for positional in found.positionals:
        _add_positional(parser, positional)


def _add_positional(parser: argparse.ArgumentParser, argument: PositionalArgument) -> None:
    is_many = isinstance(argument.how, RestOfLine) or argument.is_repeatable
    parser.add_argument(
        argument.name,
        nargs=("+" if is_many else None) if argument.is_required else "*" if is_many else "?",
        metavar=argument.how.metavar,
        help=argument.how.help,
        choices=argument.choices or None,
        type=int if argument.is_number else str,
    )


def _add_option(parser: Any, argument: OptionArgument) -> None:
    flags = (argument.flag, *argument.how.also)
    if argument.is_flag:
        parser.add_argument(*flags, dest=argument.name, action="store_true", help=argument.how.help)
        return
    parser.add_argument(
        *flags,
        dest=argument.name,
        action="append" if argument.is_repeatable else "store",
        required=argument.is_required,
        metavar=argument.how.metavar or None,
        help=argument.how.help,
        choices=argument.choices or None,
        type=int if argument.is_number else str,
    )


def parsed_arguments(verb: Verb[Arguments], options: argparse.Namespace) -> Arguments:
    """The arguments that were parsed; what was not given keeps the default of the struct."""
    found = declared(verb.arguments)
    values = {each.name: value for each in found.all if (value := getattr(options, each.name, None)) not in (None, [])}
    texts = {each.name for each in found.positionals if isinstance(each.how, RestOfLine)}
    joined = {name: " ".join(value) if name in texts else value for name, value in values.items()}
    return make_arguments(verb.arguments, joined)
