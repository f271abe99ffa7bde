"""Parses the command line, with a parser that is made from the fields of `CommandLine`."""

import argparse
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Literal, NoReturn, get_args, get_origin

from robota.cli.command_line import SECTIONS, CommandLine, UsageError
from robota.config.launch_options import Flag, FlagWithOptionalValue, LaunchOptions
from robota.protocol.permission_mode import PermissionMode
from robota.version import VERSION


def parse(argv: Sequence[str]) -> CommandLine:
    """Read the command line, or raise `UsageError`. `--help` and `--version` print and exit."""
    shape = parser()
    found, rest = shape.parse_known_args(argv)
    # Options between the words of a prompt; this takes twice as long, so it is not the first thing to try.
    values: dict[str, Any] = vars(shape.parse_intermixed_args(argv) if rest else found)
    if not values["prompt"] and any(map(str.isspace, values.get("worktree", ""))):
        values["prompt"], values["worktree"] = [values["worktree"]], ""  # no name has blanks: -w "fix the test"
    if "permission_mode" in values:
        values["permission_mode"] = PermissionMode(values["permission_mode"])
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return CommandLine(**given)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        from robota.cli.command_parser import in_plain_words

        raise UsageError(in_plain_words(message, self.format_help()))


def parser() -> argparse.ArgumentParser:
    """Every option of `robota` without a command."""
    parser = _Parser(
        prog="robota",
        usage="robota [options] [PROMPT] | robota -p [options] PROMPT | robota COMMAND …",
        description="All options. Piped input is put before the prompt.",
        # It is made for every option that is added; to measure the terminal each time, argparse would load shutil.
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=80),
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("prompt", nargs="*", metavar="PROMPT", help="what to do")
    parser.add_argument("-h", "--help", action="help", help="show the help overview")
    parser.add_argument("-V", "--version", action="version", version=f"robota {VERSION}", help="print the version")
    _add_options(parser)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    return parser


def _add_options(parser: argparse.ArgumentParser) -> None:
    groups = {section: parser.add_argument_group(section) for section in SECTIONS}
    for options in (LaunchOptions, CommandLine):
        for name, annotation in options.__annotations__.items():
            for flag in getattr(annotation, "__metadata__", ()):
                _add_option(groups[flag.section], name, flag, annotation.__origin__)
    bypass = PermissionMode.BYPASS.value
    groups["compatibility with other agents"].add_argument(
        "--dangerously-skip-permissions",
        "--yolo",
        dest="permission_mode",
        default=argparse.SUPPRESS,
        action="store_const",
        const=bypass,
        help=f"same as --permission-mode {bypass}",
    )


def _add_option(group: Any, name: str, flag: Flag, kind: Any) -> None:
    spelling = flag.spelling or (f"--{name.replace('_', '-')}",)
    if kind is bool:
        group.add_argument(*spelling, dest=name, action="store_true", help=flag.help)
        return
    how: dict[str, Any] = {"type": _converted(flag.read)} if flag.read else {"choices": _choices(kind)}
    if isinstance(flag, FlagWithOptionalValue):
        how |= {"nargs": "?", "const": ""}
    elif flag.read is None and get_origin(kind) is tuple:
        how |= {"action": "append"}
    group.add_argument(*spelling, dest=name, default=argparse.SUPPRESS, metavar=flag.metavar, help=flag.help, **how)


def _converted(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return convert


def _choices(kind: Any) -> tuple[str, ...] | None:
    """The values that a choice allows: those of a `Literal` or of an enumeration, optional or not."""
    for one in (kind, *get_args(kind)):
        if get_origin(one) is Literal:
            return get_args(one)
        if isinstance(one, type) and issubclass(one, StrEnum):
            return tuple(each.value for each in one)
    return None
