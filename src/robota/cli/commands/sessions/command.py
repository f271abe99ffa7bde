"""`robota sessions`: the parser of all actions, and which module does each."""

import errno
import sys
from argparse import ArgumentParser, BooleanOptionalAction
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from robota.cli.command_parser import CommandParser
from robota.config.errors import ConfigError
from robota.log.errors import LogError, SessionAmbiguous, SessionNotFound

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_NOT_FOUND: Final = 3
SESSION_HELP: Final = "session id, id prefix, name, or words of its first prompt"
NEWEST: Final = " (default: the newest)"
# Each module has a function `run` that takes the parsed options and returns the exit code.
MODULES: Final = {
    "list": "listing",
    "show": "showing",
    "search": "searching",
    "rename": "renaming",
    "fork": "forking",
    "export": "exporting",
    "import": "importing",
    "watch": "watching",
    "delete": "deleting",
    "prune": "pruning",
    "verify": "verifying",
}


def main(argv: Sequence[str]) -> int:
    """Run `robota sessions …`; the arguments begin after `sessions`."""
    options = parser().read(argv)
    module = import_module(f"robota.cli.commands.sessions.{MODULES[options.action]}")
    try:
        code: int = module.run(options)
    except SessionAmbiguous as error:
        return _failed(error, EXIT_USAGE)
    except SessionNotFound as error:
        return _failed(error, EXIT_NOT_FOUND)
    except (LogError, ConfigError) as error:
        return _failed(error, EXIT_NOT_FOUND if options.action == "verify" else EXIT_FAILED)
    except OSError as error:
        if error.filename is None and error.errno in (errno.EPIPE, errno.ENOSPC):
            raise  # standard output, not a log
        place = "" if error.filename is None else f" ({error.filename})"
        return _failed(f"{error.strerror or error}{place}. The logs were not changed; check the disk.", EXIT_FAILED)
    return code


def _failed(error: Exception | str, code: int) -> int:
    print(f"robota: {error}", file=sys.stderr)
    return code


def parser() -> CommandParser:
    """The argument parser of `robota sessions`."""
    shared = CommandParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print JSON")
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    shared.add_argument("--all", action="store_true", help="include the sessions of all projects")
    parser = CommandParser(
        prog="robota sessions", description="Manage the sessions of this workspace, or of all workspaces."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str, help: str, *, session: str | None = SESSION_HELP) -> ArgumentParser:
        added = actions.add_parser(name, parents=[shared], help=help)
        if session is not None:
            is_newest = session.endswith(NEWEST)
            added.add_argument("session", nargs="?" if is_newest else None, metavar="SESSION", help=session)
        return added

    listing = action("list", "list sessions, newest first", session=None)
    listing.add_argument("--limit", type=_count, metavar="N", help="show only the newest N")
    _add_show(action("show", "print a whole conversation", session=SESSION_HELP + NEWEST))
    _add_search(action("search", "search sessions by content, file, tool or model", session=None))
    renaming = action("rename", "rename a session")
    renaming.add_argument("name", metavar="NAME", help="the new name; an empty one removes the name")
    forking = action("fork", "start a new session as a copy of another")
    forking.add_argument(
        "--at", type=_count, metavar="N", help="copy only up to the end of turn N, as `robota rewind list` numbers them"
    )
    forking.add_argument("-n", "--name", help="name of the new session")
    forking.add_argument("--session-id", metavar="ID", help="id of the new session")
    _add_export(action("export", "export a session as Markdown, HTML, JSON or a bundle", session=SESSION_HELP + NEWEST))
    importing = action("import", "import a bundle, or a transcript of Claude Code or Codex", session=None)
    importing.add_argument("files", nargs="+", type=Path, metavar="FILE", help="file to import; its format is detected")
    watching = action("watch", "follow a session that is running in another process", session=SESSION_HELP + NEWEST)
    watching.add_argument(
        "--from-start", action="store_true", help="show the whole conversation first, not only the end"
    )
    deleting = action("delete", "move a session to the trash")
    deleting.add_argument("--undo", action="store_true", help="restore it from the trash")
    pruning = action("prune", "empty the trash; nothing else is ever removed", session=None)
    pruning.add_argument("--older-than", metavar="AGE", help="only sessions deleted longer ago than this: 30d, 12h, 2w")
    pruning.add_argument("--dry-run", action="store_true", help="show what would be removed")
    action("verify", "check that the log of a session is intact", session=f"{SESSION_HELP}; or a path{NEWEST}")
    return parser


def _add_show(parser: ArgumentParser) -> None:
    parser.add_argument("--last", type=_count, metavar="N", help="show only the last N entries")
    parser.add_argument("--output", action="store_true", help="show the full output of every call, not only its end")
    parser.add_argument("--no-pager", action="store_true", help="do not use a pager")


def _add_export(parser: ArgumentParser) -> None:
    formats = ("markdown", "html", "stream-json", "bundle")
    parser.add_argument("--format", choices=formats, default="markdown", help="default: markdown")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="file to write (default: standard output; required for a bundle)",
    )
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument(
        "--redact", action=BooleanOptionalAction, default=True, help="redact user names, paths and secrets (default)"
    )


def _add_search(parser: ArgumentParser) -> None:
    words = 'words that must all occur; "quoted phrase" for words in order, prefix* for word beginnings'
    parser.add_argument("words", nargs="*", metavar="WORD", help=words)
    parser.add_argument("--since", metavar="TIME", help="only sessions active since then: 7d, 12h, 2026-10-31")
    parser.add_argument("--file", metavar="PATH", help="only sessions with a tool call on this file")
    parser.add_argument("--tool", metavar="NAME", help="only sessions that used this tool")
    parser.add_argument("--model", metavar="NAME", help="only sessions with a model whose name contains this")
    parser.add_argument("--limit", type=_count, default=20, metavar="N", help="at most N sessions (default: 20)")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


_count.__name__ = "number from 1"
