"""Starts MCP servers, and shows what they offer and what changed in it."""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final

from robota.app.extensions import configured_servers, outside_code, session_plugins
from robota.commands.families.mcp import OneServer
from robota.commands.verb import Answer, NoArguments, VerbFailed, told
from robota.commands.verb_host import VerbHost
from robota.config.settings.load import load_settings
from robota.extensions.mcp.pinned_tools import ToolChange
from robota.extensions.mcp.servers import McpServers, ServerReport
from robota.text.visible import single_line

MAX_DIFF_LINES: Final = 200
MAX_LINE_LENGTH: Final = 300
LAST_LINES: Final = 10
NONE: Final = "No MCP server is configured here."


async def list_servers(host: VerbHost, _: NoArguments) -> Answer:
    """Start every server and show what it offers."""
    async with _servers(host) as servers:
        return told(NONE, []) if servers is None else _report_answer(await servers.inspect())


async def show_server(host: VerbHost, args: OneServer) -> Answer:
    """Start one server and show what it offers."""
    async with _servers(host) as servers:
        return _report_answer((await _report(servers, args.server),))


async def approve_tools(host: VerbHost, args: OneServer) -> Answer:
    """Accept the current tools of a server."""
    async with _servers(host) as servers:
        report = await _report(servers, args.server)
        lines = list(_lines(report))
        if servers is None or report.failure is not None:
            raise VerbFailed("\n".join((*lines, "Nothing was approved.")))
        servers.pins.pin(report.server, report.tools)
    lines.append(f"Approved the tools of {report.server.name} as shown above: {len(report.tools)}.")
    return told("\n".join(lines), _as_json(report))


@asynccontextmanager
async def _servers(host: VerbHost) -> AsyncIterator[McpServers | None]:
    settings = load_settings(host.root, host.env)
    plugins, plugin_notices = session_plugins(settings, host.root, host.env)
    is_attended = host.opened is None and sys.stdin.isatty()
    code = outside_code(settings, plugins, host.root, host.env, attended=is_attended, saves_new=False)
    servers, notices = configured_servers(settings, plugins, code, host.root, host.root, host.env)
    for notice in (*settings.notices, *plugin_notices, *notices):
        host.tell(notice)
    try:
        yield servers
    finally:
        if servers is not None:
            await servers.close()


async def _report(servers: McpServers | None, name: str) -> ServerReport:
    if servers is None:
        raise VerbFailed(NONE)
    if name not in servers.names:
        names = ", ".join(servers.names)
        raise VerbFailed(f"There is no MCP server {single_line(name)!r} here. Available: {names}.")
    return (await servers.inspect(name))[0]


def _report_answer(reports: tuple[ServerReport, ...]) -> Answer:
    """The reports; the exit code is 0 if every server works and nothing waits for approval."""
    in_need = any(report.failure or report.pin_problem or report.changes for report in reports)
    lines = (line for report in reports for line in _lines(report))
    return told("\n".join(lines), [_as_json(report) for report in reports], ok=not in_need)


def _as_json(report: ServerReport) -> dict[str, Any]:
    return {
        "name": report.server.name,
        "where": report.server.where,
        "status": report.state.status,
        "problem": report.failure or report.pin_problem,
        "tools": [tool.name for tool in report.tools],
        "changed": [change.after.name for change in report.changes],
        "isApproved": report.pins is not None and not report.changes,
    }


def _lines(report: ServerReport) -> Iterator[str]:
    server = report.server
    yield f"{server.name}  ({single_line(server.where, MAX_LINE_LENGTH)}): {_state(report)}"
    if report.failure is not None:
        for line in report.connection.stderr_tail.splitlines()[-LAST_LINES:]:
            yield f"    | {single_line(line, MAX_LINE_LENGTH)}"
    changed = {change.after.name for change in report.changes}
    for tool in report.tools:
        if tool.name not in changed:
            first_line = tool.description.partition("\n")[0]
            yield f"    {single_line(tool.name)}: {single_line(first_line, MAX_LINE_LENGTH)}"
    for change in report.changes:
        yield from _change_lines(change)


def _state(report: ServerReport) -> str:
    if report.failure is not None:
        return f"does not work: {single_line(report.failure, MAX_LINE_LENGTH)}"
    if report.pin_problem is not None:
        return single_line(report.pin_problem, MAX_LINE_LENGTH)
    if report.changes:
        return "changed since it was approved; changed tools are blocked"
    return "not used yet" if report.pins is None else "works"


def _change_lines(change: ToolChange) -> Iterator[str]:
    yield f"    {single_line(change.after.name)}: {'new' if change.before is None else 'changed'}"
    lines = change.diff
    for line in lines[:MAX_DIFF_LINES]:
        yield f"      {single_line(line, MAX_LINE_LENGTH)}"
    if len(lines) > MAX_DIFF_LINES:
        yield f"      … and {len(lines) - MAX_DIFF_LINES} more lines"
