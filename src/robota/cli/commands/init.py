"""`robota init`: a first AGENTS.md from a plain look at the project, without a model. Nothing is ever overwritten."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from robota.cli.command_parser import CommandParser
from robota.cli.output import print_json
from robota.cli.questions import Cancelled, at_terminal, confirm
from robota.config.errors import ConfigError
from robota.config.launch_options import workspace_root
from robota.knowledge.project.first_instructions import first_instructions, import_lines
from robota.knowledge.project.scan import ProjectScan, scan_project
from robota.text.visible import single_line

DONE: Final = 0
REFUSED: Final = 1
CONFIGURATION: Final = 3
NAME: Final = "AGENTS.md"
WRITABLE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def main(argv: Sequence[str]) -> int:
    """Run `robota init …`; the arguments begin after `init`."""
    options = parser().parse_args(argv)
    try:
        root = workspace_root(options.cwd)
    except ConfigError as error:
        print(f"robota: {error}", file=sys.stderr)
        return CONFIGURATION
    scan = scan_project(root)
    path = root / NAME
    if os.path.lexists(path) and not options.print:
        return _tell_it_is_there(path, scan, options)
    try:
        text = first_instructions(scan, scan.other_agents if _imports_others(scan, options) else ())
    except Cancelled:
        print("Nothing was written.", file=sys.stderr)
        return REFUSED
    if options.print:
        print(text, end="")
        return DONE
    return _write(path, text, scan, options)


def parser() -> CommandParser:
    """The argument parser of `robota init`."""
    parser = CommandParser(
        prog="robota init",
        description="Write a first AGENTS.md by inspecting the project. /init in a conversation, or "
        'robota -p "/init", lets the model write one.',
    )
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the project (default: here)")
    parser.add_argument("--print", action="store_true", help="print it instead of writing a file")
    parser.add_argument(
        "--import", dest="imports", action="store_true", help="import instruction files of other agents without asking"
    )
    parser.add_argument("--json", action="store_true", help="print what was found and written as JSON")
    return parser


def _imports_others(scan: ProjectScan, options: argparse.Namespace) -> bool:
    """Files of other agents are never imported silently: the user, or an option, says so."""
    if not scan.other_agents or options.imports:
        return bool(options.imports)
    if options.json or not at_terminal():
        return False
    print(f"Found instruction files of other agents: {_named(scan.other_agents)}")
    return confirm("Import them into AGENTS.md?", default=False)


def _tell_it_is_there(path: Path, scan: ProjectScan, options: argparse.Namespace) -> int:
    if options.json:
        print_json({"written": None, "found": scan})
        return REFUSED
    print(f"robota: {path} already exists and was not changed.", file=sys.stderr)
    if scan.other_agents:
        print("To import the instruction files of other agents, add to it:", file=sys.stderr)
        print(single_line(import_lines(scan.other_agents).replace("\n", "  "), 2000), file=sys.stderr)
    print('To let the model improve it: robota -p "/init"', file=sys.stderr)
    return REFUSED


def _write(path: Path, text: str, scan: ProjectScan, options: argparse.Namespace) -> int:
    try:
        with os.fdopen(os.open(path, WRITABLE, 0o644), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
    except OSError as error:
        print(f"robota: {path} cannot be written: {error.strerror}.", file=sys.stderr)
        return REFUSED
    if options.json:
        print_json({"written": str(path), "found": scan})
        return DONE
    print(f"Wrote {path}. Add to it what an agent could not guess.")
    left = [name for name in scan.other_agents if f"@{name}" not in text]
    if left:
        print(f"Not imported: {_named(left)}. robota init --print --import shows how they would be.")
    return DONE


def _named(paths: Sequence[str]) -> str:
    return single_line(", ".join(paths), 1000)
