"""`robota tool`: list the tools, and run one by hand, checked and logged as if a model had called it."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from robota.cli.command_line import PERMISSION_MODES
from robota.cli.command_parser import CommandParser
from robota.cli.output import print_columns, print_json
from robota.config.errors import ConfigError
from robota.contracts.tool import AnyTool
from robota.log.errors import LogError
from robota.protocol.permission_mode import PermissionMode
from robota.tools.registry import builtin_tools, by_name, schema_of

if TYPE_CHECKING:
    from robota.engine.calls.executor import Executed

EXIT_SUCCESS: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2


class _UsageError(Exception):
    """The command line is not valid."""


def main(argv: Sequence[str]) -> int:
    """Run `robota tool …`; the arguments begin after `tool`."""
    options = parser().read(argv)
    try:
        return _list(options) if options.action == "list" else _run(options)
    except (_UsageError, ConfigError) as error:
        print(f"robota: {error}", file=sys.stderr)
        return EXIT_USAGE
    except LogError as error:
        print(f"robota: {error}", file=sys.stderr)
        return EXIT_FAILED


def parser() -> CommandParser:
    """The argument parser of `robota tool`."""
    about = "List the tools, or run one by hand: checked and logged as if a model had called it."
    parser = CommandParser(prog="robota tool", description=about)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the tools and what each can affect")
    listing.add_argument("--json", action="store_true", help="print JSON, with descriptions and schemas")
    run = actions.add_parser(
        "run", help="run one tool", description="Exits with 0 if the tool succeeded, 1 if it failed or was refused."
    )
    run.add_argument("tool", metavar="NAME", help="tool id or label, for example read_file or Read")
    run.add_argument(
        "words", nargs="?", metavar="JSON", help="its arguments; @FILE reads a file, - reads standard input"
    )
    run.add_argument("--args", metavar="JSON", help="the arguments, as an option")
    run.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    modes = ", ".join(PERMISSION_MODES)
    run.add_argument("--permission-mode", choices=PERMISSION_MODES, metavar="MODE", help=modes)
    for name in ("allowed", "disallowed"):
        run.add_argument(
            f"--{name}-tools",
            f"--{name}Tools",
            action="append",
            default=[],
            metavar="RULES",
            help=f"calls that are {name}",
        )
    run.add_argument("--json", action="store_true", help="print the outcome as JSON")
    return parser


def _list(options: argparse.Namespace) -> int:
    tools = builtin_tools()
    if options.json:
        print_json([_described(tool) for tool in tools])
        return EXIT_SUCCESS
    rows = [("ID", "LABEL", "EFFECTS", "WHAT IT DOES"), *(_row(tool) for tool in tools)]
    print_columns(rows)
    return EXIT_SUCCESS


def _row(tool: AnyTool) -> tuple[str, ...]:
    first_sentence = tool.description().partition(". ")[0].partition("\n")[0]
    return (tool.name, tool.label, ", ".join(sorted(tool.effects)), first_sentence.rstrip("."))


def _described(tool: AnyTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "label": tool.label,
        "aliases": tool.aliases,
        "effects": sorted(tool.effects),
        "description": tool.description(),
        "schema": schema_of(tool),
    }


def _run(options: argparse.Namespace) -> int:
    from robota.app.tool_call import run_tool
    from robota.config.launch_options import LaunchOptions

    tools = by_name(builtin_tools())
    if options.tool not in tools:
        names = ", ".join(tool.name for tool in builtin_tools())
        raise _UsageError(f"There is no tool {options.tool!r}. The tools are: {names}.")
    launch = LaunchOptions(
        cwd=options.cwd,
        permission_mode=PermissionMode(options.permission_mode) if options.permission_mode else None,
        allowed_tools=tuple(options.allowed_tools),
        disallowed_tools=tuple(options.disallowed_tools),
    )
    if options.words is not None and options.args is not None:
        raise _UsageError("The arguments were given twice. Nothing was run.")
    arguments = _arguments(options.words or options.args or "{}")
    executed = asyncio.run(run_tool(launch, os.environ, tools[options.tool].name, arguments))
    if options.json:
        print_json(_outcome(executed))
    else:
        _print_outcome(executed)
    return EXIT_SUCCESS if executed.status == "success" else EXIT_FAILED


def _arguments(text: str) -> dict[str, Any]:
    try:
        if text == "-":
            text = sys.stdin.buffer.read().decode("utf-8-sig")
        elif text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8-sig")
        arguments = msgspec.json.decode(text)
    except OSError as error:
        raise _UsageError(f"The arguments cannot be read from {text[1:]}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise _UsageError(f"The arguments are not JSON: {error}. Nothing was run.") from error
    if not isinstance(arguments, dict):
        raise _UsageError("The arguments must be a JSON object. Nothing was run.")
    return arguments


def _outcome(executed: "Executed") -> dict[str, Any]:
    return {
        "tool": executed.call.name,
        "status": executed.status,
        "content": executed.result.content,
        "is_error": executed.result.is_error,
        "view": executed.result.view,
        "reason": executed.reason,
    }


def _print_outcome(executed: "Executed") -> None:
    """Print the result to standard output; a failure to standard error."""
    if executed.status == "success":
        print(executed.result.content)
    else:
        why = executed.reason or executed.result.content
        print(f"robota: {executed.status}: {why}", file=sys.stderr)
