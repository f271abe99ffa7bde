"""`robota sessions fork`."""

import argparse
import os

from robota.cli.commands.sessions.selection import chosen_session
from robota.cli.output import print_json
from robota.config.paths import user_directory
from robota.log.chain.writer import wall_clock_ms
from robota.log.kinds.session import kept_name
from robota.log.new_session import SESSION_ID_BYTES
from robota.log.snapshot_keeper import rewind_index_path
from robota.log.store import new_session_id
from robota.log.transfer.draft import DraftSession
from robota.log.transfer.fork import fork_of, write_fork
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor


def run(options: argparse.Namespace) -> int:
    """Make a new session from the beginning of another one, which stays unchanged."""
    session = chosen_session(options)
    now_ms = wall_clock_ms()
    new_id = options.session_id or new_session_id(now_ms, os.urandom(SESSION_ID_BYTES))
    redactor = Redactor(secret_variables(os.environ))
    user = user_directory(os.environ)
    fork = fork_of(session.directory, options.at, rewind_index_path(user, session.directory))
    with DraftSession(options.cwd.resolve(), user, new_id, redactor) as draft:
        write_fork(draft, fork, new_id, kept_name(options.name), now_ms)
        directory = draft.finish()
    if options.json:
        print_json({"id": new_id, "path": str(directory), "origin": session.id, "turn": options.at})
    else:
        print(f"{new_id} is a fork of {session.id}. To continue it: robota --resume {new_id}")
    return 0
