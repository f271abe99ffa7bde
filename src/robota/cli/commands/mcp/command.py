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
# Those with a value behind them.
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
    """What may stand behind `robota mcp`."""
    shared = CommandParser(add_help=False)
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    parser = CommandParser(prog="robota mcp", description="MCP servers: configure them, see what they offer, approve.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str, help: str, *, server: bool = True) -> argparse.ArgumentParser:
        added = actions.add_parser(name, parents=[shared], help=help)
        if server:
            added.add_argument("server", metavar="SERVER", help="its name")
        return added

    _add_json(action("list", "start every server and show its tools, and what changed in them", server=False))
    _add_json(action("test", "start one server and show what it offers"))
    action("approve", "accept the tools of a server as they are now")
    _add_add(action("add", "write a server into a configuration"))
    _add_json(action("get", "show the entry of a server and where it stands"))
    _add_scope(action("remove", "take a server out of the configuration"), default=None)
    _add_import(action("import", "take over servers of another agent", server=False))
    login = action("login", "sign in to a server elsewhere")
    login.add_argument("--no-browser", action="store_true", help="only print the address")
    action("logout", "forget the sign-in to a server")
    _add_serve(action("serve", "let another program use the tools of Robota, over stdin and stdout", server=False))
    return parser


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_scope(parser: argparse.ArgumentParser, default: str | None = "user") -> None:
    told = "for you everywhere, in .mcp.json, or for you in this workspace"
    chosen = f"default: {default}" if default else "default: where it stands"
    parser.add_argument("-s", "--scope", choices=SCOPES, default=default, help=f"{told} ({chosen})")


def _add_add(parser: argparse.ArgumentParser) -> None:
    _add_scope(parser)
    parser.add_argument("-t", "--transport", choices=("stdio", "http"), help="default: http for an address")
    parser.add_argument("-e", "--env", action="append", default=[], metavar="NAME=VALUE", help="for its environment")
    parser.add_argument("-H", "--header", action="append", default=[], metavar="NAME: VALUE", help="for requests to it")
    parser.add_argument("--timeout", type=float, metavar="MS", help="milliseconds that a call may take")
    parser.add_argument("--json", metavar="ENTRY", help=f"the whole entry as a JSON object: {ENTRY_FIELDS}")
    parser.add_argument("--replace", action="store_true", help="replace an entry that is there already")
    parser.add_argument("url", nargs="?", metavar="URL | COMMAND ARGS …", help="where it runs, or what to start")


def _add_serve(parser: argparse.ArgumentParser) -> None:
    modes = ", ".join(PERMISSION_MODES)
    parser.add_argument("--permission-mode", choices=PERMISSION_MODES, metavar="MODE", help=modes)
    for name in ("allowed", "disallowed"):
        parser.add_argument(
            f"--{name}-tools", action="append", default=[], metavar="RULES", help=f"calls that are {name}"
        )


def _without_command(argv: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """The arguments without the command line that `add` is given, whose options are none of ours."""
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
    parser.add_argument("names", nargs="*", metavar="SERVER", help="only these")
    parser.add_argument("--file", type=Path, metavar="FILE", help="read this instead of the agent's own places")
    parser.add_argument("--replace", action="store_true", help="replace entries that are there already")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be written")
