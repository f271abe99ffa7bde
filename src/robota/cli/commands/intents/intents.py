"""`robota intents`: manage what agents may work on in this repository, with the subcommands of `/intents`."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.app.intent_upkeep import intent_upkeep
from robota.cli.command_parser import CommandParser
from robota.cli.output import print_json
from robota.cli.questions import Cancelled, at_terminal, confirm
from robota.clients.render.command_text import command_text
from robota.commands.builtin.intents import INFO
from robota.commands.intent_requests import (
    CompleteIntent,
    CreateIntent,
    DrawMap,
    IntentRequest,
    ListIntents,
    ReportDrift,
    ShowIntent,
    StartIntent,
)
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions
from robota.intents.intent import IntentProblem, IntentStatus
from robota.intents.intent_files import INTENTS, has_intents
from robota.intents.upkeep.intent_text import NewIntent
from robota.log.errors import LogError
from robota.protocol.slash_commands import CommandShown
from robota.text.visible import single_line, visible

if TYPE_CHECKING:
    from robota.commands.intent_upkeep import IntentUpkeep

DONE: Final = 0
FAILED: Final = 1
CONFIGURATION: Final = 3
MAX_LENGTH: Final = 300
HELP: Final = {each.name: each.description for each in INFO.subcommands}


def main(argv: Sequence[str]) -> int:
    """Run `robota intents …`; the arguments begin after `intents`."""
    options = parser().read(argv)
    launch = LaunchOptions(cwd=options.cwd, allowed_tools=tuple(getattr(options, "allowed_tools", ())))
    try:
        upkeep = intent_upkeep(launch, os.environ)
        if not isinstance(order := _order(options), CreateIntent) and not has_intents(upkeep.files.home):
            return _fail(f"There are no intents here: no {INTENTS}. To create one: robota intents new", FAILED)
        if isinstance(order, CompleteIntent):
            upkeep = _allowed(upkeep, launch, order.id, is_sure=options.yes)
        answer = asyncio.run(upkeep.execute(order))
    except IntentProblem as problem:
        return _fail_for(problem)
    except OSError as error:
        return _fail(f"{error.strerror or error}", FAILED)
    except (ConfigError, LogError) as error:
        return _fail(str(error).rstrip("."), CONFIGURATION)
    except Cancelled:
        return _fail("Nothing was run", FAILED)
    if options.json:
        print_json(answer.data)
    else:
        print(command_text(CommandShown(view=answer.view)))
    return DONE if answer.is_well else FAILED


def parser() -> CommandParser:
    """The argument parser of `robota intents`."""
    shared = CommandParser(add_help=False)
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    shared.add_argument("--json", action="store_true", help="print JSON")
    parser = CommandParser(
        prog="robota intents", description="Manage intents: what agents may work on in this repository."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    by_name = {name: actions.add_parser(name, parents=[shared], help=about) for name, about in HELP.items()}
    for name in ("show", "start", "complete"):
        by_name[name].add_argument("id", metavar="ID", help="intent id, such as INT-001")
    by_name["status"].add_argument("id", nargs="?", default="", metavar="ID", help="limit to this one")
    new = by_name["new"]
    new.add_argument("name", metavar="NAME", help="short description of the intent")
    new.add_argument(
        "--owns", action="append", default=[], metavar="PATTERN", help="glob of files in its scope (repeatable)"
    )
    new.add_argument("--constraint", action="append", default=[], metavar="TEXT", help="a constraint (repeatable)")
    new.add_argument(
        "--criterion",
        action="append",
        default=[],
        metavar="TEXT",
        help="an acceptance criterion; `run: COMMAND` is executed (repeatable)",
    )
    new.add_argument("--start", action="store_true", help="activate it at once")
    complete = by_name["complete"]
    complete.add_argument("--yes", action="store_true", help="run its criteria without asking")
    complete.add_argument(
        "--allowed-tools",
        "--allowedTools",
        action="append",
        default=[],
        metavar="RULES",
        help="calls allowed without asking, as for robota -p",
    )
    return parser


def _order(options: argparse.Namespace) -> IntentRequest:
    match options.action:
        case "show":
            return ShowIntent(options.id)
        case "start":
            return StartIntent(options.id)
        case "complete":
            return CompleteIntent(options.id)
        case "status":
            return ReportDrift(options.id)
        case "map":
            return DrawMap()
        case "new":
            return CreateIntent(
                NewIntent(
                    name=options.name,
                    owned_scope=tuple(options.owns),
                    constraints=tuple(options.constraint),
                    acceptance_criteria=tuple(options.criterion),
                    status=IntentStatus.IN_PROGRESS if options.start else IntentStatus.PENDING,
                )
            )
        case _:
            return ListIntents()


def _allowed(upkeep: "IntentUpkeep", launch: LaunchOptions, id: str, *, is_sure: bool) -> "IntentUpkeep":
    """Approve exactly the commands of the intent, after the user has confirmed them or passed an option for it."""
    commands = upkeep.find(id).commands
    if not commands or (not is_sure and not at_terminal()):
        return upkeep
    if not is_sure:
        print(f"{id} is complete when these succeed:", *(f"  {visible(command)}" for command in commands), sep="\n")
        if not confirm("Run them?", default=True):
            raise Cancelled
    return intent_upkeep(launch, os.environ, approved=commands)


def _fail_for(problem: IntentProblem) -> int:
    problem_text = single_line(str(problem), MAX_LENGTH)
    if problem_text.startswith("There is no intent") or "only one that is IN_PROGRESS" in problem_text:
        return _fail(problem_text, FAILED)
    _fail(f"{INTENTS} is invalid: {problem_text}", CONFIGURATION)
    print("Until it is fixed, agents may change nothing here.", file=sys.stderr)
    return CONFIGURATION


def _fail(message: str, code: int) -> int:
    print(f"robota: {message}. Nothing was changed.", file=sys.stderr)
    return code
