"""The argument parser of a family of verbs."""

import argparse
import shlex
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from robota.cli.command_parser import CommandParser
from robota.cli.declared_parser import add_option, add_positional
from robota.cli.subcommands import SUBCOMMANDS
from robota.commands.arguments import make_arguments
from robota.commands.verb import ADDRESS, Family, ProgramVerb, Verb
from robota.config.arguments import (
    Declared,
    HiddenOption,
    ProgramLine,
    RestOfLine,
    ShellCommand,
    declared,
)

Arguments = TypeVar("Arguments", bound=msgspec.Struct)


def subcommand_parser(name: str) -> CommandParser:
    """The argument parser of `robota NAME`."""
    return family_parser(import_module(SUBCOMMANDS[name][0]).FAMILY)


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
    """The argument parser of a family. Every verb of a workspace also has `--cwd` and `--json`."""
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
    if not isinstance(verb, ProgramVerb):
        parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    if not isinstance(verb, ProgramVerb) and all(option.flag != "--json" for option in arguments.options):
        parser.add_argument("--json", action="store_true", help="print JSON")
    groups: dict[str, Any] = {"": parser}
    for option in arguments.options:
        if not isinstance(option.how, HiddenOption):
            if option.how.group not in groups:
                groups[option.how.group] = parser.add_mutually_exclusive_group()
            add_option(groups[option.how.group], option)
    for positional in arguments.positionals:
        add_positional(parser, positional)


def parsed_arguments(verb: Verb[Arguments], options: argparse.Namespace) -> Arguments:
    """The arguments that were parsed; what was not given keeps the default of the struct."""
    arguments = declared(verb.arguments)
    given = {each.name: getattr(options, each.name, None) for each in arguments.all}
    values = {name: value for name, value in given.items() if value not in (None, [])}
    return make_arguments(
        verb.arguments, {name: _as_one_string(arguments, name, value) for name, value in values.items()}
    )


def _as_one_string(arguments: Declared, name: str, value: Any) -> Any:
    """The words of an argument that is a text or a command as one string."""
    how = next((each.how for each in arguments.positionals if each.name == name), None)
    if isinstance(how, ShellCommand):
        return value[0] if len(value) == 1 else shlex.join(value)
    return " ".join(value) if isinstance(how, RestOfLine) else value
