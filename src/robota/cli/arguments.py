"""Parses the command line, with a parser that is made from the fields of `CommandLine`."""

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

from robota.cli.command_line import HEADINGS, CommandLine, CompatibilityOption, UsageError
from robota.cli.declared_parser import add_option
from robota.config.arguments import declared
from robota.protocol.permission_mode import PermissionMode
from robota.version import VERSION


def parse(argv: Sequence[str]) -> CommandLine:
    """Read the command line, or raise `UsageError`. `--help` and `--version` print and exit."""
    shape = parser()
    namespace, rest = shape.parse_known_args(argv)
    # Options between the words of a prompt; this takes twice as long, so it is not the first thing to try.
    values: dict[str, Any] = vars(shape.parse_intermixed_args(argv) if rest else namespace)
    if not values["prompt"] and any(map(str.isspace, values.get("worktree", ""))):
        values["prompt"], values["worktree"] = [values["worktree"]], ""  # no name has blanks: -w "fix the test"
    if "permission_mode" in values:
        values["permission_mode"] = PermissionMode(values["permission_mode"])
    if "fallback_models" in values:
        values["fallback_models"] = [name for names in values["fallback_models"] for name in names.split(",") if name]
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    arguments = CommandLine(**given)
    _refuse_unused(arguments)
    return arguments


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
    groups = {section: parser.add_argument_group(heading) for section, heading in HEADINGS.items()}
    for option in declared(CommandLine).options:
        add_option(groups[type(option.how)], option)
    bypass = PermissionMode.BYPASS.value
    groups[CompatibilityOption].add_argument(
        "--dangerously-skip-permissions",
        "--yolo",
        dest="permission_mode",
        default=argparse.SUPPRESS,
        action="store_const",
        const=bypass,
        help=f"same as --permission-mode {bypass}",
    )


def _refuse_unused(arguments: CommandLine) -> None:
    """Raise `UsageError` if an option has no effect in combination with the others."""
    _refuse_task_beside_upkeep(arguments)
    is_resumed = arguments.continues or arguments.resume is not None
    if arguments.continues and arguments.resume is not None:
        raise UsageError("--continue and --resume name different sessions. Use one of them.")
    if arguments.fork_session and not is_resumed:
        raise UsageError("--fork-session needs a session to copy: add --continue or --resume SESSION.")
    if arguments.session_id is not None and is_resumed and not arguments.fork_session:
        raise UsageError("--session-id is for a new session; a resumed session keeps its id. Add --fork-session.")
    if arguments.yes and not arguments.reset and not is_resumed:
        raise UsageError(
            "--yes answers only the questions of --reset and --resume. To choose what runs without asking, use "
            "--permission-mode and --allowed-tools."
        )
    if arguments.configure_provider is None:
        for name in ("type", "base_url", "api_key", "api_key_env"):
            is_asked_about = name == "type" and arguments.configure
            if getattr(arguments, name) is not None and not is_asked_about:
                raise UsageError(f"{_option(name)} belongs to a profile: --configure-provider NAME")
    elif arguments.provider not in (None, arguments.configure_provider):
        raise UsageError("--provider and --configure-provider name different profiles.")
    _refuse_output_without_reader(arguments)


def _refuse_output_without_reader(arguments: CommandLine) -> None:
    if arguments.quiet and arguments.verbose:
        raise UsageError("--quiet and --verbose cannot be combined.")
    if arguments.json_schema is not None and not arguments.print and arguments.output_format != "stream-json":
        raise UsageError("--json-schema applies to print mode: add -p.")
    if arguments.plain and arguments.print:
        raise UsageError("--plain applies to the conversation in a terminal; -p prints plain text anyway.")
    if arguments.include_partial_messages and arguments.output_format in ("text", "json"):
        raise UsageError("--include-partial-messages needs --output-format stream-json or messages.")


def _refuse_task_beside_upkeep(arguments: CommandLine) -> None:
    chosen = [name for name in ("check_update", "reset", "configure") if getattr(arguments, name)]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(map(_option, chosen))} cannot be combined.")
    if chosen and (arguments.prompt or arguments.print):
        raise UsageError(f"{_option(chosen[0])} starts no task, so it takes no prompt.")
    if chosen and (arguments.configure_provider is not None or arguments.set_current or arguments.language is not None):
        raise UsageError(f"{_option(chosen[0])} cannot be combined with options that change other settings.")


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"
