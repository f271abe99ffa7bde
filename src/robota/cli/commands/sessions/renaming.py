"""`robota sessions rename`."""

import argparse
import asyncio
import os

from robota.cli.commands.sessions.selection import chosen_session, person_directory
from robota.cli.output import print_json
from robota.log.chain.head import head_path
from robota.log.chain.writer import SessionLog, wall_clock_ms
from robota.log.errors import LogInUse
from robota.log.kinds.session import LONGEST_NAME, NameRecord
from robota.log.taking_up import refuse_newer
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor
from robota.text.visible import single_line, without_controls


def run(options: argparse.Namespace) -> int:
    """Append the new name to the log; the log says which names a session had."""
    session = chosen_session(options)
    refuse_newer(session.directory, session.summary.header)
    name = " ".join(without_controls(options.name).split())[:LONGEST_NAME] or None
    user = person_directory()
    # A session from elsewhere must not look like one of this machine afterwards.
    head_file = head_path(user, session.directory) if user is not None and session.is_own else None
    try:
        log, _ = SessionLog.open(
            session.directory, wall_clock_ms, Redactor(secret_variables(os.environ)), head_file=head_file
        )
    except LogInUse as error:
        raise LogInUse(f"The session {session.id} is running; its name was not changed. Close it first.") from error
    try:
        log.append(NameRecord(name=name))
        asyncio.run(log.sync())
    finally:
        log.close()
    if options.json:
        print_json({"id": session.id, "name": name})
    else:
        print(f"{session.id} " + (f"is now called {single_line(name)}" if name else "has no name now") + ".")
    return 0
