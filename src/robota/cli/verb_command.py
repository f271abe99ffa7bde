"""Runs a verb as a sub-command of `robota`, and prints its answer as text or JSON."""

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Final

from robota.app.workspace_host import WorkspaceHost
from robota.cli.output import print_json
from robota.cli.questions import Cancelled, at_terminal, confirm
from robota.cli.verb_parser import family_parser, parsed_arguments
from robota.clients.render.command_text import command_text
from robota.commands.verb import Family, RunsCommands, WrongArguments, execute
from robota.config.launch_options import LaunchOptions

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
        answer = asyncio.run(
            execute(
                options.verb,
                WorkspaceHost(launch, os.environ, _ask if at_terminal() and not options.json else None),
                arguments,
            )
        )
    except WrongArguments as problem:
        return _fail(str(problem), USAGE)
    except family.caught as error:
        failure = family.explain(error)
        return _fail(failure.message, failure.exit_code)
    if options.json:
        print_json(answer.data)
    else:
        print(command_text(answer.outcome))
    return DONE if answer.is_well else FAILED


def _ask(about: str, question: str, default: bool) -> bool:
    print(about)
    try:
        return confirm(question, default=default)
    except Cancelled:
        return False


def _fail(message: str, code: int) -> int:
    print(f"robota: {message}", file=sys.stderr)
    return code
