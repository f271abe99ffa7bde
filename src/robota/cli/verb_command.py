"""Runs a verb as a sub-command of `robota`, and prints its answer as text or JSON."""

import asyncio
import os
import shlex
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from robota.cli.output import print_columns, print_json
from robota.cli.shell_host import ShellHost
from robota.cli.verb_parser import family_parser, parsed_arguments
from robota.commands.arguments import written
from robota.commands.verb import Answer, Family, RunsCommands, WrongArguments, execute
from robota.config.launch_options import LaunchOptions
from robota.protocol.slash_commands import CommandOutcome, CommandShown, DiffShown
from robota.protocol.views import TableView
from robota.text.visible import visible

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2


def run_family(family: Family, argv: Sequence[str]) -> int:
    """Run `robota FAMILY VERB …`; the arguments begin after the family."""
    options = family_parser(family).read(argv)
    try:
        arguments = parsed_arguments(options.verb, options)
        allowed = arguments.allowed_tools if isinstance(arguments, RunsCommands) else ()
        launch = LaunchOptions(cwd=options.cwd, allowed_tools=allowed, needs_model=False)
        host = ShellHost(launch, os.environ, is_json=options.json)
        answer = asyncio.run(execute(options.verb, host, arguments))
    except WrongArguments as problem:
        return _fail(str(problem), USAGE)
    except family.caught as error:
        failure = family.explain(error)
        return _fail(failure.message, failure.exit_code)
    for notice in answer.notices:
        print(f"robota: {notice}", file=sys.stderr)
    if options.json:
        print_json(answer.data)
    else:
        _print(answer, arguments, host)
    return DONE if answer.is_well else FAILED


def _print(answer: Answer, arguments: msgspec.Struct, host: ShellHost) -> None:
    """Print the answer. A user who can be asked has seen and declined what needs agreement."""
    pending = answer.pending if answer.pending and not host.can_ask else ()
    for each in pending:
        print(f"{each.about}\n")
    _print_outcome(answer.outcome)
    for each in pending[:1]:
        given = written(arguments)
        added = shlex.join(word for word in written(each.arguments) if word not in given)
        print(f"robota: Not a terminal. {each.purpose}: {added}", file=sys.stderr)


def _print_outcome(outcome: CommandOutcome) -> None:
    match outcome:
        case CommandShown(view=TableView(columns=columns, rows=rows)):
            print_columns([columns, *rows])
        case CommandShown(view=view):
            from robota.clients.render.view_lines import view_text

            print(view_text(view))
        case DiffShown(diff=diff):
            print(visible(diff), end="")
        case _:
            from robota.clients.render.command_text import command_text

            print(command_text(outcome))


def _fail(message: str, code: int) -> int:
    print(f"robota: {message}", file=sys.stderr)
    return code
