"""`robota context`: show the model's context at the end of a session, and restore what was condensed."""

import argparse
import asyncio
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from robota.cli.command_parser import CommandParser
from robota.cli.commands.sessions.selection import session_in_project
from robota.cli.output import print_json, terminal_width
from robota.cli.reading_progress import reading_progress
from robota.clients.render.context_ledger import ledger_lines
from robota.config.errors import ConfigError
from robota.config.launch_options import workspace_root
from robota.config.paths import user_directory
from robota.contracts.tool import ToolRole, names_with_role
from robota.engine.context.recorded_context import recorded_context, tokens_in_use
from robota.engine.context.reducer import CannotRestore, chosen_reduction, require_room
from robota.log.artifacts import ARTIFACTS_NAME, read_artifact
from robota.log.chain.head import head_path, noted_head
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.writer import SessionLog, wall_clock_ms
from robota.log.errors import LogError, SessionNotFound
from robota.log.kinds.conversation import RestoreRecord
from robota.log.replay.reading import LogReading, context_without
from robota.log.replay.requests import RecordedRequest, newest_request
from robota.log.replay.task import TaskFold
from robota.log.snapshot_keeper import snapshot_path
from robota.log.store import fallback_directory, list_sessions
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor
from robota.tools.registry import builtin_tools

DONE: Final = 0
REFUSED: Final = 1


def main(argv: Sequence[str]) -> int:
    """Run `robota context …`; the arguments begin after `context`."""
    is_restore = list(argv[:1]) == ["restore"]
    options = _restore_parser().parse_args(argv[1:]) if is_restore else parser().parse_args(argv)
    try:
        directory = _session_directory(workspace_root(options.cwd), options.session)
        return _restore(directory, options) if is_restore else _show(directory, options)
    except (CannotRestore, ConfigError, LogError) as error:
        print(f"robota: {error}", file=sys.stderr)
        return REFUSED


def _show(directory: Path, options: argparse.Namespace) -> int:
    user = user_directory(os.environ)
    noted = noted_head(head_path(user, directory))
    log = directory / LOG_NAME
    with reading_progress("reading the log", log) as progress:
        reading = LogReading(snapshot_path(user, directory), noted, progress=progress)
        reading.read(log)
    update = recorded_context(*_newest_request(directory, reading.session().current), _file_readers())
    if options.json:
        print_json(update)
    else:
        for line in ledger_lines(update, terminal_width(), whole=options.all):
            print(line.text)
    return DONE


def _restore(directory: Path, options: argparse.Namespace) -> int:
    """Log that a condensation, a truncation or a cut is undone."""
    head_file = head_path(user_directory(os.environ), directory)
    # A session from another machine must not look like one of this machine afterwards.
    is_own = noted_head(head_file) is not None
    reading = LogReading()
    log, _ = SessionLog.open(
        directory,
        wall_clock_ms,
        Redactor(secret_variables(os.environ)),
        head_file=head_file if is_own else None,
        read=reading.read,
    )
    try:
        task, request = _newest_request(directory, reading.session().current)
        chosen = chosen_reduction(options.id, task.context.undoable)
        context = context_without(directory / LOG_NAME, task.task_id, chosen)
        before, after = tokens_in_use(task, request), tokens_in_use(task, request, context)
        require_room(after, request.context_window or math.inf)
        log.append(RestoreRecord(task_id=task.task_id, id=chosen))
        asyncio.run(log.sync())
    finally:
        log.close()
    if options.json:
        print_json({"session": directory.name, "id": chosen, "prevContextTokens": before, "newContextTokens": after})
    else:
        print(f"{chosen} was undone: the model gets about {after:,} tokens instead of {before:,}.")
    return DONE


def _file_readers() -> frozenset[str]:
    return names_with_role(builtin_tools(), ToolRole.FILE_READER)


def _restore_parser() -> CommandParser:
    parser = CommandParser(
        prog="robota context restore", description="Restore to the context what was condensed or removed."
    )
    parser.add_argument(
        "session",
        nargs="?",
        metavar="SESSION",
        help="session id, id prefix, name or words (default: the newest)",
    )
    parser.add_argument("--id", metavar="ID", help="what to undo, as `--json` names it (default: the newest)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    return parser


def parser() -> CommandParser:
    """The argument parser of `robota context`."""
    parser = CommandParser(
        prog="robota context",
        description="What fills the context window of the model at the end of a session. "
        "`robota context restore` brings back what was condensed.",
    )
    parser.add_argument(
        "session",
        nargs="?",
        metavar="SESSION",
        help="session id, id prefix, name or words (default: the newest)",
    )
    parser.add_argument("--all", action="store_true", help="name everything, not only the largest")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    return parser


def _session_directory(root: Path, session: str | None) -> Path:
    if session is not None:
        return session_in_project(root, session).directory
    user = user_directory(os.environ)
    # A repository can contain logs; those written on this machine are recorded outside it.
    own = (
        each.directory
        for each in list_sessions(root, fallback_directory(user, root))
        if noted_head(head_path(user, each.directory))
    )
    found = next(own, None)
    if found is None:
        raise SessionNotFound(f"There is no session of this machine in {root}. Use --cwd to name another directory.")
    return found


def _newest_request(directory: Path, task: TaskFold | None) -> tuple[TaskFold, RecordedRequest]:
    """The current task at the end of the session, and the content of its last request."""
    artifacts = directory / ARTIFACTS_NAME
    request = (
        None
        if task is None
        else newest_request(directory / LOG_NAME, task.task_id, lambda name: read_artifact(artifacts, name))
    )
    if task is None or request is None:
        raise SessionNotFound(f"Nothing was sent to a model in the session {directory.name}, so its context is empty.")
    return task, request
