"""`robota mcp list`, `test` and `approve`: start servers, and show what they offer and what changed in it."""

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from robota.cli.output import print_json
from robota.config.settings.load import load_settings
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.extensions.mcp.pinned_tools import ToolChange
    from robota.extensions.mcp.servers import McpServers, ServerReport

EXIT_SUCCESS: Final = 0
EXIT_FAILED: Final = 1
MAX_DIFF_LINES: Final = 200
MAX_LINE_LENGTH: Final = 300
LAST_LINES: Final = 10


def run(options: argparse.Namespace) -> int:
    """Run the action."""
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    from robota.app.extensions import configured_servers, outside_code, session_plugins

    root: Path = options.root
    settings = load_settings(root, os.environ)
    plugins, plugin_notices = session_plugins(settings, root, os.environ)
    code = outside_code(settings, plugins, root, os.environ, attended=sys.stdin.isatty(), saves_new=False)
    servers, notices = configured_servers(settings, plugins, code, root, root, os.environ)
    for notice in (*settings.notices, *plugin_notices, *notices):
        print(f"robota: {notice}", file=sys.stderr)
    if servers is None:
        print("[]" if options.action == "list" and options.json else "No MCP server is configured here.")
        return EXIT_SUCCESS if options.action == "list" else EXIT_FAILED
    try:
        if options.action == "list":
            return _show(await servers.inspect(), as_json=options.json)
        if options.server not in servers.names:
            return _unknown(options.server, servers)
        reports = await servers.inspect(options.server)
        return _approve(servers, reports[0]) if options.action == "approve" else _show(reports, as_json=options.json)
    finally:
        await servers.close()


def _show(reports: "tuple[ServerReport, ...]", *, as_json: bool) -> int:
    """Run the action; returns 0 if every server works and nothing waits for approval."""
    if as_json:
        print_json([_as_data(report) for report in reports])
    else:
        for report in reports:
            _describe(report)
    in_need = [report for report in reports if report.failure or report.pin_problem or report.changes]
    return EXIT_FAILED if in_need else EXIT_SUCCESS


def _unknown(name: str, servers: "McpServers") -> int:
    known = ", ".join(servers.names)
    print(f"robota: There is no MCP server {single_line(name)!r} here. Available: {known}.", file=sys.stderr)
    return EXIT_FAILED


def _approve(servers: "McpServers", report: "ServerReport") -> int:
    _describe(report)
    if report.failure is not None:
        print("robota: Nothing was approved.", file=sys.stderr)
        return EXIT_FAILED
    servers.pins.pin(report.server, report.tools)
    print(f"Approved the tools of {report.server.name} as shown above: {len(report.tools)}.")
    return EXIT_SUCCESS


def _as_data(report: "ServerReport") -> dict[str, Any]:
    return {
        "name": report.server.name,
        "where": report.server.where,
        "status": report.state.status,
        "problem": report.failure or report.pin_problem,
        "tools": [tool.name for tool in report.tools],
        "changed": [change.after.name for change in report.changes],
        "isApproved": report.pins is not None and not report.changes,
    }


def _describe(report: "ServerReport") -> None:
    server = report.server
    print(f"{server.name}  ({single_line(server.where, MAX_LINE_LENGTH)}): {_state(report)}")
    if report.failure is not None:
        for line in report.connection.stderr_tail.splitlines()[-LAST_LINES:]:
            print(f"    | {single_line(line, MAX_LINE_LENGTH)}")
    changed = {change.after.name for change in report.changes}
    for tool in report.tools:
        if tool.name not in changed:
            print(
                f"    {single_line(tool.name)}: {single_line(tool.description.partition(chr(10))[0], MAX_LINE_LENGTH)}"
            )
    for change in report.changes:
        _print_change(change)


def _state(report: "ServerReport") -> str:
    if report.failure is not None:
        return f"does not work: {single_line(report.failure, MAX_LINE_LENGTH)}"
    if report.pin_problem is not None:
        return single_line(report.pin_problem, MAX_LINE_LENGTH)
    if report.changes:
        return "changed since it was approved; changed tools are blocked"
    return "not used yet" if report.pins is None else "works"


def _print_change(change: "ToolChange") -> None:
    print(f"    {single_line(change.after.name)}: {'new' if change.before is None else 'changed'}")
    lines = change.diff
    for line in lines[:MAX_DIFF_LINES]:
        print(f"      {single_line(line, MAX_LINE_LENGTH)}")
    if len(lines) > MAX_DIFF_LINES:
        print(f"      … and {len(lines) - MAX_DIFF_LINES} more lines")
