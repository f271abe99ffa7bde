"""The verbs of MCP servers. `commands/mcp` carries them out."""

from collections.abc import Iterable
from typing import Annotated, Final, Literal

import msgspec

from robota.commands.families.tool import CallOptions, launch_for
from robota.commands.verb import (
    Answer,
    Family,
    NoArguments,
    RawOutput,
    ReadingConversationVerb,
    ReadingVerb,
    ShellVerb,
    Verb,
    printed,
    table,
    told,
)
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional, ProgramLine
from robota.config.settings.load import load_settings
from robota.extensions.mcp.configured_servers import written_servers
from robota.extensions.mcp.foreign_entries import AGENTS
from robota.protocol.events import McpServerStatus
from robota.protocol.slash_commands import SubcommandInfo
from robota.text.visible import single_line

MAX_CELL: Final = 200
SCOPE: Final = "user: all your projects; project: .mcp.json; local: only you, in this workspace"
ENTRY_FIELDS: Final = "command, args, env, url, headers, timeout …"
STATES: Final = {
    McpServerStatus.PENDING: "starts with the first task",
    McpServerStatus.CONNECTED: "connected",
    McpServerStatus.FAILED: "failed",
}
Scope = Literal["user", "project", "local"]
Agent = Literal["claude", "codex", "gemini", "opencode"]


def _names(host: VerbHost) -> Iterable[SubcommandInfo]:
    servers = written_servers(load_settings(host.root, host.env))[0]
    return (SubcommandInfo(name=name, description=single_line(each.where)) for name, each in servers.items())


class OneServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server."""

    server: Annotated[str, Positional("SERVER", "name of the server", _names)]


class AddServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server to add."""

    server: Annotated[str, Positional("SERVER", "name of the server")]
    program: Annotated[
        tuple[str, ...], ProgramLine("URL | COMMAND ARGS …", "URL of the server, or the command that starts it")
    ] = ()
    scope: Annotated[Scope, Option(f"{SCOPE} (default: user)", also=("-s",))] = "user"
    transport: Annotated[
        Literal["stdio", "http"] | None, Option("default: http for a URL, otherwise stdio", also=("-t",))
    ] = None
    env: Annotated[
        tuple[str, ...], Option("environment variable of the server (repeatable)", "NAME=VALUE", ("-e",))
    ] = ()
    header: Annotated[
        tuple[str, ...], Option("HTTP header of requests to it (repeatable)", "NAME: VALUE", ("-H",))
    ] = ()
    timeout: Annotated[float | None, Option("time limit of a call in milliseconds", "MS")] = None
    json: Annotated[str | None, Option(f"the whole entry as a JSON object: {ENTRY_FIELDS}", "ENTRY")] = None
    replace: Annotated[bool, Option("replace an existing entry")] = False


class RemoveServer(OneServer, frozen=True, kw_only=True):
    """A server to remove."""

    scope: Annotated[Scope | None, Option(f"{SCOPE} (default: where it is defined)", also=("-s",))] = None


class ImportServers(msgspec.Struct, frozen=True, kw_only=True):
    """Whose servers are imported."""

    agent: Annotated[Agent, Positional("AGENT", ", ".join(AGENTS))]
    names: Annotated[tuple[str, ...], Positional("SERVER", "import only these servers")] = ()
    scope: Annotated[Scope, Option(f"{SCOPE} (default: user)", also=("-s",))] = "user"
    file: Annotated[str | None, Option("read this file instead of the agent's own configuration", "FILE")] = None
    replace: Annotated[bool, Option("replace existing entries")] = False
    dry_run: Annotated[bool, Option("show what would be written, without writing")] = False


class SignInToServer(OneServer, frozen=True, kw_only=True):
    """A server to sign in to."""

    no_browser: Annotated[bool, Option("print the URL instead of opening a browser")] = False


def _status(host: VerbHost, _: NoArguments) -> Answer:
    """The servers of the conversation."""
    state = None if host.opened is None else host.opened.session.state()
    servers, tools = ((), ()) if state is None else (state.mcp_servers, state.tools)
    if not servers:
        return told("No MCP server is configured here.")
    return table(
        ("SERVER", "STATE", "TOOLS"),
        ((server.name, STATES[server.status], _tool_names(server.name, tools)) for server in servers),
    )


def _tool_names(server: str, tools: Iterable[str]) -> str:
    prefix = f"mcp__{server}__"
    names = ", ".join(name.removeprefix(prefix) for name in tools if name.startswith(prefix))
    return single_line(names, MAX_CELL) or "-"


async def _serve(host: VerbHost, args: CallOptions) -> Answer:
    """Serve on standard input and output until the client disconnects."""
    from robota.app.mcp_server import serve_session

    launch = msgspec.structs.replace(launch_for(host, args), cwd=host.root)
    await serve_session(launch, host.env, host.tell)
    return printed(RawOutput(()))


FAMILY: Final = Family(
    name="mcp",
    about="Configure, inspect and approve MCP servers.",
    description="show the MCP servers of this session, and configure servers",
    default="status",
    verbs=(
        ReadingConversationVerb("status", "show the MCP servers of this session and their tools", NoArguments, _status),
        ReadingVerb(
            "list",
            "start every server and list its tools and what changed in them",
            NoArguments,
            "mcp.inspecting:list_servers",
        ),
        ReadingVerb("test", "start one server and show what it provides", OneServer, "mcp.inspecting:show_server"),
        Verb("approve", "accept the current tools of a server", OneServer, "mcp.inspecting:approve_tools"),
        Verb("add", "add a server to the configuration", AddServer, "mcp.entries:add_entry"),
        ReadingVerb("get", "show the entry of a server and the file it is in", OneServer, "mcp.entries:get_entry"),
        Verb("remove", "remove a server from the configuration", RemoveServer, "mcp.entries:remove_entry"),
        Verb("import", "import the servers of another agent", ImportServers, "mcp.entries:import_entries"),
        Verb("login", "sign in to a remote server (OAuth)", SignInToServer, "mcp.signing_in:sign_in_to"),
        Verb("logout", "remove the stored sign-in of a server", OneServer, "mcp.signing_in:sign_out_of"),
        ShellVerb(
            "serve",
            "serve Robota's tools over stdin and stdout",
            CallOptions,
            _serve,
            reason="it speaks MCP on standard input and output",
        ),
    ),
)
