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
SESSION_HELP: Final = "an id or the beginning of one, a name, or words of its first prompt"
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
        return _failed(
            f"{error.strerror or error}{place}. The logs were left as they are; check the disk.", EXIT_FAILED
        )
    return code


def _failed(error: Exception | str, code: int) -> int:
    print(f"robota: {error}", file=sys.stderr)
    return code


def parser() -> CommandParser:
    """What may stand behind `robota sessions`."""
    shared = CommandParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print JSON instead of text")
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    shared.add_argument("--all", action="store_true", help="the sessions of all projects, not only of this one")
    parser = CommandParser(prog="robota sessions", description="The sessions of a workspace, or of all.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str, help: str, *, session: str | None = SESSION_HELP) -> ArgumentParser:
        added = actions.add_parser(name, parents=[shared], help=help)
        if session is not None:
            is_newest = session.endswith(NEWEST)
            added.add_argument("session", nargs="?" if is_newest else None, metavar="SESSION", help=session)
        return added

    listing = action("list", "show the sessions, the newest first", session=None)
    listing.add_argument("--limit", type=_count, metavar="N", help="only the newest N")
    _add_show(action("show", "print a whole conversation", session=SESSION_HELP + NEWEST))
    _add_search(action("search", "find sessions by words in them, and by what they did", session=None))
    renaming = action("rename", "give a session another name")
    renaming.add_argument("name", metavar="NAME", help="the new name; an empty one takes the name away")
    forking = action("fork", "begin a new session with a copy of another")
    forking.add_argument(
        "--at", type=_count, metavar="N", help="copy only up to the end of turn N of `robota rewind list`"
    )
    forking.add_argument("-n", "--name", help="the name of the new session")
    forking.add_argument("--session-id", metavar="ID", help="the id of the new session")
    _add_export(
        action("export", "write a session for people, programs or another machine", session=SESSION_HELP + NEWEST)
    )
    importing = action("import", "take in a bundle, or a transcript of Claude Code or Codex", session=None)
    importing.add_argument("files", nargs="+", type=Path, metavar="FILE", help="what it is shows in its content")
    watching = action(
        "watch", "follow a session that runs elsewhere, without touching it", session=SESSION_HELP + NEWEST
    )
    watching.add_argument(
        "--from-start", action="store_true", help="show the whole conversation first, not only its end"
    )
    deleting = action("delete", "move a session to the trash")
    deleting.add_argument("--undo", action="store_true", help="put it back from the trash")
    pruning = action("prune", "empty the trash; nothing else is ever removed", session=None)
    pruning.add_argument("--older-than", metavar="AGE", help="only what was deleted so long ago: 30d, 12h, 2w")
    pruning.add_argument("--dry-run", action="store_true", help="show what would be removed")
    action("verify", "check that a session's log was not changed", session=f"{SESSION_HELP}; or a path{NEWEST}")
    return parser


def _add_show(parser: ArgumentParser) -> None:
    parser.add_argument("--last", type=_count, metavar="N", help="only the last N entries")
    parser.add_argument("--output", action="store_true", help="the whole output of every call, not only its end")
    parser.add_argument("--no-pager", action="store_true", help="do not stop after each screen")


def _add_export(parser: ArgumentParser) -> None:
    formats = ("markdown", "html", "stream-json", "bundle")
    parser.add_argument("--format", choices=formats, default="markdown", help="default: markdown")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="default: standard output; a bundle is a file"
    )
    parser.add_argument("--force", action="store_true", help="replace the file if it is there")
    parser.add_argument(
        "--redact", action=BooleanOptionalAction, default=True, help="cover names, paths and keys (default)"
    )


def _add_search(parser: ArgumentParser) -> None:
    words = 'words that must all be there; "quoted words" in this order, begin* for a beginning'
    parser.add_argument("words", nargs="*", metavar="WORD", help=words)
    parser.add_argument("--since", metavar="TIME", help="written since then: 7d, 12h, 2026-10-31")
    parser.add_argument("--file", metavar="PATH", help="sessions with a call that named this file")
    parser.add_argument("--tool", metavar="NAME", help="sessions that used this tool")
    parser.add_argument("--model", metavar="NAME", help="sessions with a model of which this is part of the name")
    parser.add_argument("--limit", type=_count, default=20, metavar="N", help="at most N sessions (default: 20)")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


_count.__name__ = "number from 1"
