"""`robota memory`: manage what is remembered between sessions, with the subcommands of `/memory`."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from robota.app.knowledge.memory_actions import workspace_memory_actions
from robota.cli.command_parser import CommandParser
from robota.cli.output import print_json
from robota.clients.render.command_text import command_text
from robota.commands.builtin.memory import INFO
from robota.commands.memory_requests import (
    AddEntry,
    CheckEntries,
    DecideCandidate,
    ForgetEntry,
    ListCandidates,
    ListEntries,
    ListUsed,
    MemoryRequest,
    ShowText,
)
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions
from robota.knowledge.memory.candidates import classify
from robota.knowledge.memory.entry import MemoryType
from robota.knowledge.memory.memories import MemoryScope, NewEntry
from robota.knowledge.memory.store import MemoryProblem
from robota.log.errors import LogError
from robota.protocol.slash_commands import CommandShown

DONE: Final = 0
FAILED: Final = 1
CONFIGURATION: Final = 3
HELP: Final = {each.name: each.description for each in INFO.subcommands}


def main(argv: Sequence[str]) -> int:
    """Run `robota memory …`; the arguments begin after `memory`."""
    options = parser().read(argv)
    launch = LaunchOptions(
        cwd=options.cwd, allowed_tools=tuple(getattr(options, "allowed_tools", ())), needs_model=False
    )
    try:
        answer = asyncio.run(workspace_memory_actions(launch, os.environ).execute(_request(options)))
    except MemoryProblem as problem:
        return _fail(str(problem), FAILED)
    except (ConfigError, LogError) as error:
        return _fail(str(error), CONFIGURATION)
    if options.json:
        print_json(answer.data)
    else:
        print(command_text(CommandShown(view=answer.view)))
    return DONE if answer.is_well else FAILED


def parser() -> CommandParser:
    """The argument parser of `robota memory`."""
    shared = CommandParser(add_help=False)
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    shared.add_argument("--json", action="store_true", help="print JSON")
    parser = CommandParser(prog="robota memory", description="What is remembered between sessions.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    by_name = {name: actions.add_parser(name, parents=[shared], help=about) for name, about in HELP.items()}
    by_name["show"].add_argument("topic", nargs="?", default="", metavar="TOPIC", help="instead of the index")
    for name in ("approve", "reject", "forget"):
        by_name[name].add_argument("id", metavar="ID", help="id or id prefix, as shown in the list")
    for name in ("add", "note"):
        by_name[name].add_argument("--user", action="store_true", help="for all projects instead of this one")
        by_name[name].add_argument("--run", metavar="COMMAND", help="a command that succeeds while the entry is true")
    by_name["add"].add_argument("type", choices=tuple(MemoryType), metavar="TYPE", help=", ".join(MemoryType))
    by_name["add"].add_argument("topic", metavar="TOPIC", help="a word or two")
    for name in ("add", "note"):
        by_name[name].add_argument("text", nargs="+", metavar="TEXT", help="what to remember")
    by_name["check"].add_argument("id", nargs="?", default="", metavar="ID", help="limit to this one")
    by_name["check"].add_argument(
        "--allowed-tools",
        "--allowedTools",
        action="append",
        default=[],
        metavar="RULES",
        help="calls allowed without asking, as for robota -p",
    )
    return parser


def _request(options: argparse.Namespace) -> MemoryRequest:
    match options.action:
        case "show":
            return ShowText("" if options.topic == "index" else options.topic)
        case "add" | "note":
            return AddEntry(_new_entry(options))
        case "pending":
            return ListCandidates()
        case "approve" | "reject":
            return DecideCandidate(id=options.id, is_approved=options.action == "approve")
        case "used":
            return ListUsed()
        case "forget":
            return ForgetEntry(options.id)
        case "check":
            return CheckEntries(options.id)
        case _:
            return ListEntries()


def _new_entry(options: argparse.Namespace) -> NewEntry:
    text = " ".join(options.text)
    kind, topic = (MemoryType(options.type), options.topic) if options.action == "add" else classify(text)
    scope = MemoryScope.USER if options.user else MemoryScope.PROJECT
    return NewEntry(type=kind, topic=topic, text=text, scope=scope, check=options.run)


def _fail(message: str, code: int) -> int:
    print(f"robota: {message}", file=sys.stderr)
    return code
