"""`robota rewind`: show what the prompts of a session changed, and restore earlier states."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from robota.app.rewinding.rewind import stored_rewinder
from robota.cli.command_parser import CommandParser
from robota.cli.commands.checkpointed_sessions import chosen_session, session_workspace
from robota.cli.output import print_columns, print_json
from robota.cli.questions import Cancelled, at_terminal, confirm
from robota.cli.reading_progress import reading_progress
from robota.clients.render.rewind_lines import (
    NOTHING_DIFFERS,
    planned_conversation_lines,
    question_about,
    result_lines,
)
from robota.commands.point_table import point_table
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions, settings_for, workspace_root
from robota.config.settings.schema import CheckpointSettings
from robota.contracts.rewind import RewindError, RewindService
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import LogError, LogInUse
from robota.protocol.commands import RedoRewind, RewindRequest, RewindTo, UndoRewind
from robota.protocol.rewind import RewindResult, RewindScope
from robota.text.visible import visible

SHOWN: Final = 50
DONE: Final = 0
REFUSED: Final = 1


class _Context(msgspec.Struct, frozen=True, kw_only=True):
    """The session, the directory of its files, and its checkpoints."""

    directory: Path
    workspace: Path
    settings: CheckpointSettings
    options: argparse.Namespace

    @contextmanager
    def rewinder(self, *, is_written: bool) -> Iterator[RewindService]:
        """What goes back in the session, or only looks."""
        with (
            reading_progress("reading the log", self.directory / LOG_NAME) as progress,
            stored_rewinder(
                self.settings, self.workspace, os.environ, self.directory, is_written=is_written, progress=progress
            ) as rewinder,
        ):
            yield rewinder


def main(argv: Sequence[str]) -> int:
    """Run `robota rewind …`; the arguments begin after `rewind`."""
    options = parser().read(argv)
    try:
        root = workspace_root(options.cwd)
        session = chosen_session(root, options.session)
        context = _Context(
            directory=session.directory,
            workspace=session_workspace(session, root),
            settings=settings_for(LaunchOptions(cwd=root), root, os.environ).values.checkpoints,
            options=options,
        )
        return ACTIONS[options.action](context)
    except LogInUse:
        print(
            "robota: this session is open in another process. Nothing was changed. Use /rewind there, or close it.",
            file=sys.stderr,
        )
    except (ConfigError, LogError, RewindError) as error:
        print(f"robota: {str(error).rstrip('.')}.", file=sys.stderr)
    except Cancelled:
        print("Nothing was changed.", file=sys.stderr)
    return REFUSED


def parser() -> CommandParser:
    """The argument parser of `robota rewind`."""
    shared = CommandParser(add_help=False)
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    shared.add_argument(
        "--session",
        metavar="SESSION",
        help="session id, id prefix, name or words (default: the newest with checkpoints)",
    )
    shared.add_argument("--json", action="store_true", help="print JSON")
    changing = CommandParser(add_help=False)
    changing.add_argument("--dry-run", action="store_true", help="show the exact diff and change nothing")
    changing.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    parser = CommandParser(
        prog="robota rewind", description="Restore the files and the conversation of a session to an earlier point."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", parents=[shared], help="list the prompts of a session and what each changed")
    listing.add_argument(
        "--last", type=_count, metavar="N", help=f"only the newest N (default: {SHOWN}; with --json all)"
    )
    differ = actions.add_parser("diff", parents=[shared], help="show what a prompt changed (default: all prompts)")
    differ.add_argument("number", nargs="?", type=int, metavar="N", help="number of the prompt in the list")
    back = actions.add_parser(
        "restore", parents=[shared, changing], help="restore the state before a prompt or a tool call"
    )
    back.add_argument("number", nargs="?", type=int, metavar="N", help="number of the prompt in the list")
    back.add_argument("--call", metavar="CALL", help="restore the state before this tool call instead")
    scope = back.add_mutually_exclusive_group()
    scope.add_argument("--files", action="store_true", help="restore only files")
    scope.add_argument("--conversation", action="store_true", help="restore only the conversation")
    scope.add_argument(
        "--only", action="append", default=[], metavar="PATH", help="restore only this file or directory"
    )
    actions.add_parser("undo", parents=[shared, changing], help="undo the last restore")
    actions.add_parser("redo", parents=[shared, changing], help="redo what undo reverted")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


_count.__name__ = "number from 1"


def _list(context: _Context) -> int:
    options = context.options
    newest = SHOWN if options.last is None and not options.json else options.last
    with context.rewinder(is_written=False) as rewinder:
        points = asyncio.run(rewinder.points(newest))
    if context.options.json:
        print_json({"session": context.directory.name, "prompts": points})
    elif not points:
        print("This session has no prompts.")
    else:
        table = point_table(points)
        if older := points[0].number - 1:
            print(f"{older:,} older prompts are not shown; --last N shows more.")
        print_columns([table.columns, *table.rows])
    return DONE


def _diff(context: _Context) -> int:
    with context.rewinder(is_written=False) as rewinder:
        diff = asyncio.run(rewinder.diff(context.options.number))
    if context.options.json:
        print_json({"session": context.directory.name, "diff": diff})
    else:
        _print_diff(diff)
    return DONE


def _restore(context: _Context) -> int:
    options = context.options
    scope = (
        RewindScope.FILES if options.files else RewindScope.CONVERSATION if options.conversation else RewindScope.BOTH
    )
    only = tuple(os.path.relpath(options.cwd.resolve() / path, context.workspace) for path in options.only)
    return _go(context, RewindTo(number=options.number, call_id=options.call, scope=scope, only=only))


def _undo(context: _Context) -> int:
    return _go(context, UndoRewind())


def _redo(context: _Context) -> int:
    return _go(context, RedoRewind())


ACTIONS: Final[dict[str, Callable[[_Context], int]]] = {
    "list": _list,
    "diff": _diff,
    "restore": _restore,
    "undo": _undo,
    "redo": _redo,
}


def _go(context: _Context, request: RewindRequest) -> int:
    """Show what would happen, ask for confirmation, and do it."""
    options, has_saved = context.options, False
    with context.rewinder(is_written=not options.dry_run) as rewinder:
        if options.dry_run:
            return _show(asyncio.run(rewinder.preview(request)), as_json=options.json)
        if not options.yes:
            preview = asyncio.run(rewinder.preview(request))
            if not _is_wanted(preview):
                return DONE if preview.is_empty else REFUSED
            request = msgspec.structs.replace(request, state=preview.state)
            has_saved = preview.saved_new_work
        result = asyncio.run(rewinder.carry_out(request))
        # Work that was in no checkpoint was saved by the preview.
        result = msgspec.structs.replace(result, saved_new_work=result.saved_new_work or has_saved)
        return _tell(result, as_json=options.json)


def _is_wanted(preview: RewindResult) -> bool:
    if preview.is_empty:
        print(NOTHING_DIFFERS)
        return False
    if not at_terminal():
        raise RewindError("Not a terminal, so nobody can confirm. Nothing was changed. Use --yes or --dry-run")
    _show(preview, as_json=False)
    return confirm(question_about(preview), default=False)


def _show(preview: RewindResult, *, as_json: bool) -> int:
    if as_json:
        print_json(preview)
        return DONE
    if preview.diff or not preview.changes_conversation:
        _print_diff(preview.diff)
    for line in planned_conversation_lines(preview):
        print(line)
    return DONE


def _tell(result: RewindResult, *, as_json: bool) -> int:
    if as_json:
        print_json(result)
    else:
        for line in result_lines(result):
            print(line)
    return DONE


def _print_diff(diff: str) -> None:
    if diff:
        print(visible(diff), end="")
    else:
        print("Nothing has changed.")
