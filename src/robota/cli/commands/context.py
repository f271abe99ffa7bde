"""`robota context`: what the model had in view at the end of a session, token by token."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from robota.cli.command_parser import CommandParser
from robota.cli.output import print_json, terminal_width
from robota.clients.render.context_ledger import ledger_lines
from robota.config.errors import ConfigError
from robota.config.launch_options import workspace_root
from robota.config.paths import user_directory
from robota.engine.context.recorded_context import recorded_context
from robota.log.artifacts import read_artifact
from robota.log.chain.head import head_path, noted_head
from robota.log.chain.reader import LOG_NAME, load
from robota.log.chain.writer import ARTIFACTS_NAME
from robota.log.errors import LogError, SessionNotFound
from robota.log.replay.requests import RecordedRequest, recorded_requests
from robota.log.replay.session import replay
from robota.log.replay.task import ReplayedTask
from robota.log.store import fallback_directory, find_session, list_sessions
from robota.protocol.events import ContextUpdate

DONE: Final = 0
REFUSED: Final = 1


def main(argv: Sequence[str]) -> int:
    """Run `robota context …`; the arguments begin after `context`."""
    options = _parser().parse_args(argv)
    try:
        update = _context_of(_session_directory(workspace_root(options.cwd), options.session))
    except (ConfigError, LogError) as error:
        print(f"robota: {error}", file=sys.stderr)
        return REFUSED
    if options.json:
        print_json(update)
    else:
        for line in ledger_lines(update, terminal_width(), whole=options.all):
            print(line.text)
    return DONE


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="robota context", description="What fills the context window of the model at the end of a session."
    )
    parser.add_argument("session", nargs="?", metavar="SESSION", help="its id or the start of it (default: the newest)")
    parser.add_argument("--all", action="store_true", help="name everything, not only the largest")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    return parser


def _session_directory(root: Path, session: str | None) -> Path:
    user = user_directory(os.environ)
    fallback = fallback_directory(user, root)
    if session is not None:
        return find_session(root, session, fallback)
    # A repository can bring logs along; those of this machine are known outside it.
    own = (each.directory for each in list_sessions(root, fallback) if noted_head(head_path(user, each.directory)))
    found = next(own, None)
    if found is None:
        raise SessionNotFound(f"There is no session of this machine in {root}. Say which one is meant.")
    return found


def _context_of(directory: Path) -> ContextUpdate:
    records = load(directory / LOG_NAME).records
    task = replay(records).current
    requests = recorded_requests(records, lambda name: read_artifact(directory / ARTIFACTS_NAME, name))
    request = _newest(requests, task)
    if task is None or request is None:
        raise SessionNotFound(f"Nothing was sent to a model in the session {directory.name}, so nothing was in view.")
    return recorded_context(task, request)


def _newest(requests: Sequence[RecordedRequest], task: ReplayedTask | None) -> RecordedRequest | None:
    return next((each for each in reversed(requests) if task is not None and each.task_id == task.task_id), None)
