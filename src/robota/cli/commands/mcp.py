"""`robota mcp`: look at the MCP servers of this workspace and at what changed in them, and approve the changes."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.cli.command_parser import CommandParser
from robota.config.errors import ConfigError
from robota.config.settings.load import load_settings
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.extensions.mcp.pinned_tools import ToolChange
    from robota.extensions.mcp.servers import McpServers, ServerReport

EXIT_SUCCESS: Final = 0
EXIT_FAILED: Final = 1
EXIT_CONFIGURATION: Final = 3
LONGEST_DIFF: Final = 200
LONGEST_LINE: Final = 300
LAST_LINES: Final = 10


def main(argv: Sequence[str]) -> int:
    """Run `robota mcp …`; the arguments begin after `mcp`."""
    options = _parser().read(argv)
    try:
        return asyncio.run(_run(options))
    except OSError as error:
        print(f"robota: {options.cwd} cannot be used: {error.strerror}.", file=sys.stderr)
    except ConfigError as error:
        print(f"robota: {error}", file=sys.stderr)
    return EXIT_CONFIGURATION


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="robota mcp", description="MCP servers: start them, see what they offer, approve what changed."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser(
        "list", help="start every server and show its tools, and what changed since they were approved"
    )
    approve = actions.add_parser("approve", help="accept the tools of a server as they are now")
    approve.add_argument("server", metavar="SERVER", help="its name")
    for action in (listing, approve):
        action.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    return parser


async def _run(options: argparse.Namespace) -> int:
    from robota.app.mcp import configured_servers

    root = options.cwd.resolve(strict=True)
    settings = load_settings(root, os.environ)
    servers, notices = configured_servers(settings, root, root, os.environ)
    for notice in (*settings.notices, *notices):
        print(f"robota: {notice}", file=sys.stderr)
    if servers is None:
        print("No MCP server is configured here.")
        return EXIT_SUCCESS if options.action == "list" else EXIT_FAILED
    try:
        return await (_list(servers) if options.action == "list" else _approve(servers, options.server))
    finally:
        await servers.close()


async def _list(servers: "McpServers") -> int:
    """Exits with 0 if every server works and nothing waits for approval."""
    reports = await servers.inspect()
    for report in reports:
        _describe(report)
    in_need = [report for report in reports if report.failure or report.unknown or report.changes]
    return EXIT_FAILED if in_need else EXIT_SUCCESS


async def _approve(servers: "McpServers", name: str) -> int:
    if name not in servers.names:
        known = ", ".join(servers.names)
        print(f"robota: There is no MCP server {single_line(name)!r} here. There are: {known}.", file=sys.stderr)
        return EXIT_FAILED
    [report] = await servers.inspect(name)
    _describe(report)
    if report.failure is not None:
        print("robota: Nothing was approved.", file=sys.stderr)
        return EXIT_FAILED
    servers.pins.pin(report.server, report.tools)
    print(f"The tools of {name} are approved as they are shown here: {len(report.tools)}.")
    return EXIT_SUCCESS


def _describe(report: "ServerReport") -> None:
    server = report.server
    print(f"{server.name}  ({single_line(server.where, LONGEST_LINE)}): {_state(report)}")
    if report.failure is not None:
        for line in report.connection.last_words.splitlines()[-LAST_LINES:]:
            print(f"    | {single_line(line, LONGEST_LINE)}")
    changed = {change.after.name for change in report.changes}
    for tool in report.tools:
        if tool.name not in changed:
            print(f"    {single_line(tool.name)}: {single_line(tool.description.partition(chr(10))[0], LONGEST_LINE)}")
    for change in report.changes:
        _print_change(change)


def _state(report: "ServerReport") -> str:
    if report.failure is not None:
        return f"does not work: {single_line(report.failure, LONGEST_LINE)}"
    if report.unknown is not None:
        return single_line(report.unknown, LONGEST_LINE)
    if report.changes:
        return "changed since it was approved; what differs is blocked"
    return "not used yet" if report.pins is None else "works"


def _print_change(change: "ToolChange") -> None:
    print(f"    {single_line(change.after.name)}: {'new' if change.before is None else 'changed'}")
    lines = change.diff
    for line in lines[:LONGEST_DIFF]:
        print(f"      {single_line(line, LONGEST_LINE)}")
    if len(lines) > LONGEST_DIFF:
        print(f"      … and {len(lines) - LONGEST_DIFF} lines more")
