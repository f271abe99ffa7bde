"""`robota mcp`: the parser of all actions, and which module does each."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from robota.cli.command_line import PERMISSION_MODES
from robota.cli.command_parser import CommandParser
from robota.config.errors import ConfigError
from robota.log.errors import LogError

EXIT_CONFIGURATION: Final = 3
SCOPES: Final = ("user", "project", "local")
ADDRESS: Final = ("http://", "https://")
# Options that take a value.
ADD_OPTIONS: Final = frozenset(
    ("--cwd", "-s", "--scope", "-t", "--transport", "-e", "--env", "-H", "--header", "--timeout", "--json")
)
ENTRY_FIELDS: Final = "command, args, env, url, headers, timeout …"
# Each module has a function `run` that takes the parsed options and returns the exit code.
MODULES: Final = {
    "list": "inspecting",
    "test": "inspecting",
    "approve": "inspecting",
    "add": "entries",
    "get": "entries",
    "remove": "entries",
    "import": "importing",
    "login": "signing_in",
    "logout": "signing_in",
    "serve": "serving",
}


def main(argv: Sequence[str]) -> int:
    """Run `robota mcp …`; the arguments begin after `mcp`."""
    argv, command = _without_command(argv)
    options = parser().read(argv)
    options.command = command
    module = import_module(f"robota.cli.commands.mcp.{MODULES[options.action]}")
    try:
        options.root = _workspace(options.cwd)
        code: int = module.run(options)
    except (ConfigError, LogError) as error:
        print(f"robota: {error}", file=sys.stderr)
        return EXIT_CONFIGURATION
    return code


def _workspace(directory: Path) -> Path:
    try:
        return directory.resolve(strict=True)
    except OSError as error:
        raise ConfigError(f"{directory} cannot be used: {error.strerror}.") from error


def parser() -> CommandParser:
    """The argument parser of `robota mcp`."""
    shared = CommandParser(add_help=False)
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    parser = CommandParser(prog="robota mcp", description="Configure, inspect and approve MCP servers.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str, help: str, *, server: bool = True) -> argparse.ArgumentParser:
        added = actions.add_parser(name, parents=[shared], help=help)
        if server:
            added.add_argument("server", metavar="SERVER", help="name of the server")
        return added

    _add_json(action("list", "start every server and list its tools and what changed in them", server=False))
    _add_json(action("test", "start one server and show what it provides"))
    action("approve", "accept the current tools of a server")
    _add_add(action("add", "add a server to the configuration"))
    _add_json(action("get", "show the entry of a server and the file it is in"))
    _add_scope(action("remove", "remove a server from the configuration"), default=None)
    _add_import(action("import", "import the servers of another agent", server=False))
    login = action("login", "sign in to a remote server (OAuth)")
    login.add_argument("--no-browser", action="store_true", help="print the URL instead of opening a browser")
    action("logout", "remove the stored sign-in of a server")
    _add_serve(action("serve", "serve Robota's tools over stdin and stdout", server=False))
    return parser


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_scope(parser: argparse.ArgumentParser, default: str | None = "user") -> None:
    scope_help = "user: all your projects; project: .mcp.json; local: only you, in this workspace"
    chosen = f"default: {default}" if default else "default: where it is defined"
    parser.add_argument("-s", "--scope", choices=SCOPES, default=default, help=f"{scope_help} ({chosen})")


def _add_add(parser: argparse.ArgumentParser) -> None:
    _add_scope(parser)
    parser.add_argument("-t", "--transport", choices=("stdio", "http"), help="default: http for a URL, otherwise stdio")
    parser.add_argument(
        "-e",
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="environment variable of the server (repeatable)",
    )
    parser.add_argument(
        "-H",
        "--header",
        action="append",
        default=[],
        metavar="NAME: VALUE",
        help="HTTP header of requests to it (repeatable)",
    )
    parser.add_argument("--timeout", type=float, metavar="MS", help="time limit of a call in milliseconds")
    parser.add_argument("--json", metavar="ENTRY", help=f"the whole entry as a JSON object: {ENTRY_FIELDS}")
    parser.add_argument("--replace", action="store_true", help="replace an existing entry")
    parser.add_argument(
        "url", nargs="?", metavar="URL | COMMAND ARGS …", help="URL of the server, or the command that starts it"
    )


def _add_serve(parser: argparse.ArgumentParser) -> None:
    modes = ", ".join(PERMISSION_MODES)
    parser.add_argument("--permission-mode", choices=PERMISSION_MODES, metavar="MODE", help=modes)
    for name in ("allowed", "disallowed"):
        parser.add_argument(
            f"--{name}-tools", action="append", default=[], metavar="RULES", help=f"calls that are {name}"
        )


def _without_command(argv: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """The arguments without the command line that is passed to `add`, whose options are not ours."""
    place, words = 1, 0
    while argv[:1] == ["add"] and place < len(argv):
        word = argv[place]
        if word == "--":
            return argv[:place], list(argv[place + 1 :])
        if word.startswith("-"):
            place += 2 if word in ADD_OPTIONS else 1
            continue
        words += 1
        if words == 2 and not word.startswith(ADDRESS):
            return argv[:place], list(argv[place:])
        place += 1
    return argv, []


def _add_import(parser: argparse.ArgumentParser) -> None:
    from robota.extensions.mcp.foreign_entries import AGENTS

    _add_scope(parser)
    parser.add_argument("agent", choices=tuple(AGENTS), metavar="AGENT", help=", ".join(AGENTS))
    parser.add_argument("names", nargs="*", metavar="SERVER", help="import only these servers")
    parser.add_argument(
        "--file", type=Path, metavar="FILE", help="read this file instead of the agent's own configuration"
    )
    parser.add_argument("--replace", action="store_true", help="replace existing entries")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written, without writing")
