"""The complete command line as plain data, read from the argument parsers themselves."""

import argparse
from typing import Final

import msgspec

from robota.cli.arguments import parser as main_parser
from robota.cli.command_parser import CommandParser
from robota.cli.help.topics import help_words
from robota.cli.subcommands import SUBCOMMANDS
from robota.cli.verb_parser import subcommand_parser

# The kind of path that a value is, by its placeholder in the help.
PATH_KINDS: Final = {"DIR": "directory", "FILE": "file", "PATH": "file", "FILE|JSON": "file"}


class OptionShape(msgspec.Struct, frozen=True, kw_only=True):
    """One option: how it is written, what follows it, what it does."""

    flags: tuple[str, ...]
    help: str
    value: str = ""  # the word for its value; empty if it takes none
    is_value_optional: bool = False
    choices: tuple[str, ...] = ()

    @property
    def path_kind(self) -> str:
        """`file` or `directory` if the value is one."""
        return PATH_KINDS.get(self.value, "")


class CommandShape(msgspec.Struct, frozen=True, kw_only=True):
    """A command: its options, its actions, and the words that may follow it."""

    name: str
    help: str
    options: tuple[OptionShape, ...] = ()
    actions: "tuple[CommandShape, ...]" = ()
    words: tuple[str, ...] = ()
    path_kind: str = ""  # `file` or `directory` if such a name is one of its words


def main_shape() -> CommandShape:
    """`robota` with its options and all its commands."""
    commands = tuple(_command_shape(name) for name in SUBCOMMANDS)
    return CommandShape(name="robota", help="", options=_options(main_parser()), actions=commands)


def main_options() -> tuple[OptionShape, ...]:
    """The options of `robota` without a command."""
    return _options(main_parser())


def _command_shape(name: str) -> CommandShape:
    shape = _shape(name, SUBCOMMANDS[name][1], subcommand_parser(name))
    return msgspec.structs.replace(shape, words=tuple(help_words())) if name == "help" else shape


def _shape(name: str, help: str, parser: argparse.ArgumentParser) -> CommandShape:
    words, path_kind = _positionals(parser)
    return CommandShape(
        name=name, help=help, options=_options(parser), actions=_actions(parser), words=words, path_kind=path_kind
    )


def _actions(parser: argparse.ArgumentParser) -> tuple[CommandShape, ...]:
    if isinstance(parser, CommandParser) and parser.named_first:
        return tuple(_shape(name, below.description or "", below) for name, below in parser.named_first.items())
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            descriptions = {choice.dest: choice.help or "" for choice in action._choices_actions}
            return tuple(_shape(name, descriptions.get(name, ""), below) for name, below in action.choices.items())
    return ()


def _positionals(parser: argparse.ArgumentParser) -> tuple[tuple[str, ...], str]:
    choices: list[str] = []
    path_kind = ""
    for action in parser._actions:
        if action.option_strings or isinstance(action, argparse._SubParsersAction):
            continue
        choices.extend(str(choice) for choice in action.choices or ())
        path_kind = path_kind or PATH_KINDS.get(str(action.metavar), "")
    return tuple(choices), path_kind


def _options(parser: argparse.ArgumentParser) -> tuple[OptionShape, ...]:
    return tuple(
        _option(action) for action in parser._actions if action.option_strings and action.help != argparse.SUPPRESS
    )


def _option(action: argparse.Action) -> OptionShape:
    takes_value = action.nargs != 0
    shown = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return OptionShape(
        flags=tuple(action.option_strings),
        help=(action.help or "") % {"default": action.default} if "%(" in (action.help or "") else action.help or "",
        value=shown if takes_value else "",
        is_value_optional=action.nargs == "?",
        choices=tuple(str(choice) for choice in action.choices or ()),
    )
