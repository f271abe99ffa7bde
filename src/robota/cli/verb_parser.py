"""The argument parser of a family of verbs, and of any sub-command."""

import argparse
import shlex
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from robota.cli.command_parser import CommandParser
from robota.cli.subcommands import SUBCOMMANDS
from robota.commands.arguments import Declared, Kind, OptionArgument, PositionalArgument, declared, make_arguments
from robota.commands.verb import (
    ADDRESS,
    Family,
    HiddenOption,
    ProgramLine,
    RestOfLine,
    ShellCommand,
    ValuesOption,
    Verb,
)

Arguments = TypeVar("Arguments", bound=msgspec.Struct)


def subcommand_parser(name: str) -> CommandParser:
    """The argument parser of `robota NAME`."""
    module = import_module(SUBCOMMANDS[name][0])
    parser: CommandParser = family_parser(module.FAMILY) if hasattr(module, "FAMILY") else module.parser()
    return parser


def read_options(family: Family, argv: Sequence[str]) -> argparse.Namespace:
    """Parse what follows the name of the family. Words behind `--` are a command, even if they look like options."""
    end = _end_of_own_words(family, argv)
    needs_words = family.main is None or any(each.is_required for each in declared(family.main.arguments).all)
    options = family_parser(family).read(argv[:end], needs_words=needs_words)
    command = _command_name(options.verb)
    if command:
        behind = argv[end + 1 :] if argv[end : end + 1] == ["--"] else argv[end:]
        setattr(options, command, [*getattr(options, command), *behind])
    return options


def _end_of_own_words(family: Family, argv: Sequence[str]) -> int:
    """Where a command or a program begins, whose options are not ours."""
    named = next((each for each in family.verbs if argv and each.name == argv[0]), family.main)
    if not isinstance(named, Verb) or not _command_name(named):
        return len(argv)
    end = argv.index("--") if "--" in argv else len(argv)
    arguments = declared(named.arguments)
    if not isinstance(arguments.positionals[-1].how, ProgramLine):
        return end
    with_value = {flag for each in arguments.options if not each.is_flag for flag in (each.flag, *each.how.also)}
    own, position = len(arguments.positionals) - 1, 1
    while position < end:
        word = argv[position]
        if word.startswith("-"):
            position += 2 if word in {"--cwd", *with_value} else 1
            continue
        if own == 0 and not word.startswith(ADDRESS):
            return position
        own, position = max(0, own - 1), position + 1
    return end


def _command_name(verb: Verb[Any] | Family | None) -> str:
    """The name of the argument that is a command or a program; empty if there is none."""
    positionals = declared(verb.arguments).positionals if isinstance(verb, Verb) else ()
    return next((each.name for each in positionals if isinstance(each.how, ShellCommand | ProgramLine)), "")


def family_parser(family: Family) -> CommandParser:
    """The argument parser of a family. Every verb also has `--cwd` and `--json`."""
    parser = CommandParser(prog=f"robota {family.name}", description=family.about)
    if family.main is None:
        _add_verbs(parser, family)
        return parser
    _add_arguments(parser, family.main)
    for verb in family.in_shell:
        if isinstance(verb, Verb):
            parser.named_first[verb.name] = CommandParser(prog=f"{parser.prog} {verb.name}", description=verb.help)
            _add_arguments(parser.named_first[verb.name], verb)
    return parser


def _add_verbs(parser: argparse.ArgumentParser, family: Family) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for verb in family.in_shell:
        if isinstance(verb, Family):
            _add_verbs(actions.add_parser(verb.name, help=verb.description), verb)
        else:
            _add_arguments(actions.add_parser(verb.name, help=verb.help), verb)


def _add_arguments(parser: argparse.ArgumentParser, verb: Verb[Any]) -> None:
    arguments = declared(verb.arguments)
    parser.set_defaults(verb=verb)
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    if all(option.flag != "--json" for option in arguments.options):
        parser.add_argument("--json", action="store_true", help="print JSON")
    groups: dict[str, Any] = {"": parser}
    for option in arguments.options:
        if not isinstance(option.how, HiddenOption):
            if option.how.group not in groups:
                groups[option.how.group] = parser.add_mutually_exclusive_group()
            _add_option(groups[option.how.group], option)
    for positional in arguments.positionals:
        _add_positional(parser, positional)


def _add_positional(parser: argparse.ArgumentParser, argument: PositionalArgument) -> None:
    is_many = isinstance(argument.how, RestOfLine) or argument.is_repeatable
    parser.add_argument(
        argument.name,
        nargs=("+" if is_many else None) if argument.is_required else "*" if is_many else "?",
        metavar=argument.how.metavar,
        help=argument.how.help,
        choices=argument.choices or None,
        type=_converter(argument.kind),
    )


def _add_option(parser: Any, argument: OptionArgument) -> None:
    flags = (*(each for each in argument.how.also if len(each) == 2), argument.flag)
    flags += tuple(each for each in argument.how.also if each not in flags)
    if argument.is_flag:
        action = "store_false" if argument.is_on else "store_true"
        parser.add_argument(*flags, dest=argument.name, action=action, help=argument.how.help)
        return
    is_many = isinstance(argument.how, ValuesOption)
    parser.add_argument(
        *flags,
        dest=argument.name,
        action="append" if argument.is_repeatable and not is_many else "store",
        nargs="+" if is_many else None,
        required=argument.is_required,
        metavar=argument.how.metavar or None,
        help=argument.how.help,
        choices=argument.choices or None,
        type=_converter(argument.kind),
    )


def _converter(kind: Kind) -> Any:
    """A function that argparse calls with a text; its name is part of the message about a wrong one."""

    def convert(text: str) -> str | int | float:
        if not kind.is_valid(text):
            raise ValueError(text)
        return text if kind is Kind.TEXT else float(text) if kind is Kind.NUMBER else int(text)

    convert.__name__ = kind.value
    return convert


def parsed_arguments(verb: Verb[Arguments], options: argparse.Namespace) -> Arguments:
    """The arguments that were parsed; what was not given keeps the default of the struct."""
    arguments = declared(verb.arguments)
    given = {each.name: getattr(options, each.name, None) for each in arguments.all}
    values = {name: value for name, value in given.items() if value not in (None, [])}
    return make_arguments(verb.arguments, {name: _joined(arguments, name, value) for name, value in values.items()})


def _joined(arguments: Declared, name: str, value: Any) -> Any:
    """The words of an argument that is a text or a command as one string."""
    how = next((each.how for each in arguments.positionals if each.name == name), None)
    if isinstance(how, ShellCommand):
        return value[0] if len(value) == 1 else shlex.join(value)
    return " ".join(value) if isinstance(how, RestOfLine) else value
