"""Commands about extensions: MCP servers, hooks, skills, and trust in the workspace."""

from collections.abc import Iterable
from typing import Final

from robota.commands.command import SlashCommand, shown_text, wrong_arguments
from robota.commands.host import CommandHost
from robota.engine.session.session import Session
from robota.protocol.commands import Refused
from robota.protocol.events import McpServerStatus
from robota.protocol.slash_commands import (
    CommandChoice,
    CommandOption,
    CommandOutcome,
    CommandShown,
    SessionWanted,
    SlashCommandInfo,
    SubcommandInfo,
)
from robota.protocol.views import TableView
from robota.text.visible import single_line

MAX_CELL: Final = 200
STATES: Final = {
    McpServerStatus.PENDING: "starts with the first task",
    McpServerStatus.CONNECTED: "connected",
    McpServerStatus.FAILED: "failed",
}
MCP: Final = SlashCommandInfo(name="mcp", description="show the MCP servers of this session and their tools")
HOOKS: Final = SlashCommandInfo(name="hooks", description="show the hooks of this session")
SKILLS: Final = SlashCommandInfo(name="skills", description="show the available skills and prompt commands")
TRUST: Final = SlashCommandInfo(
    name="trust",
    argument_hint="[decide]",
    description="show whether this workspace is trusted, and its configuration",
    subcommands=(SubcommandInfo(name="decide", description="review all of it and decide"),),
    while_working=False,
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/mcp`, `/hooks`, `/skills` and `/trust`."""
    session = host.session

    async def mcp(arguments: str) -> CommandOutcome | Refused:
        servers = session.state().mcp_servers
        if not servers:
            return shown_text("No MCP server is configured here.")
        rows = ((server.name, STATES[server.status], _tool_names(server.name, session)) for server in servers)
        return _table(("SERVER", "STATE", "TOOLS"), rows)

    async def hooks(arguments: str) -> CommandOutcome | Refused:
        rows = tuple(_hook_rows(host))
        return _table(("EVENT", "FOR", "OF", "KIND", "RUNS"), rows) if rows else shown_text("There are no hooks here.")

    async def skills(arguments: str) -> CommandOutcome | Refused:
        knowledge = host.services.knowledge
        infos = () if knowledge is None else knowledge.commands()
        if not infos:
            return shown_text("There are no skills here. To create one: robota skills new NAME")
        return _table(
            ("NAME", "OF", "DESCRIPTION"), ((f"/{each.name}", each.source, each.description) for each in infos)
        )

    async def trust(arguments: str) -> CommandOutcome | Refused:
        if arguments == "decide":
            return SessionWanted(session_id=host.options.session_id, decides_trust=True)
        return wrong_arguments(TRUST, "Invalid arguments for /trust.") if arguments else _trust(host)

    yield SlashCommand(info=MCP, run=mcp)
    yield SlashCommand(info=HOOKS, run=hooks)
    yield SlashCommand(info=SKILLS, run=skills)
    yield SlashCommand(info=TRUST, run=trust)


def _trust(host: CommandHost) -> CommandOutcome:
    found = host.settings.trust
    if found is None:
        return shown_text(" ".join(host.settings.ignored) or "This workspace contains nothing that needs trust.")
    sources = found.snapshot.sources
    if not sources:
        return shown_text(f"{found.snapshot.root}: {found.state}.")
    state = f"{found.snapshot.root}: {found.state}. It contains: {', '.join(each.path for each in sources)}."
    if found.is_given:
        return shown_text(state)
    decide = CommandOption(label="decide", line="/trust decide", detail="review everything, like robota trust")
    return CommandChoice(title=state, options=(decide,))


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> CommandShown:
    cells = (tuple(single_line(cell, MAX_CELL) for cell in row) for row in rows)
    return CommandShown(view=TableView(columns=columns, rows=tuple(cells)))


def _tool_names(server: str, session: Session) -> str:
    prefix = f"mcp__{server}__"
    names = [name.removeprefix(prefix) for name in session.state().tools if name.startswith(prefix)]
    return ", ".join(names) or "-"


def _hook_rows(host: CommandHost) -> Iterable[tuple[str, ...]]:
    from_plugins = ((plugin.name, plugin.contents.hook_settings) for plugin in host.opened.plugins)
    found = [(owner, hooks) for owner, hooks in (*from_plugins, ("settings", host.settings.values.hooks)) if hooks]
    if not found:
        return
    from robota.hooks.definitions import parse_hooks

    for owner, hooks in found:
        for rule in parse_hooks(hooks).rules:
            for handler in rule.handlers:
                kind = type(handler).__name__.removesuffix("Handler").lower()
                yield (rule.event, rule.matcher or "all", owner, kind, handler.name)
