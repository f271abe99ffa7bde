"""`robota sessions rename`."""

import argparse
import asyncio
import os

from robota.cli.commands.sessions.selection import chosen_session, person_directory
from robota.cli.output import print_json
from robota.log.errors import LogInUse
from robota.log.kinds.session import NameRecord, kept_name
from robota.log.reopening import open_to_add, refuse_newer
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor
from robota.text.visible import single_line


def run(options: argparse.Namespace) -> int:
    """Append the new name to the log, which keeps the earlier names."""
    session = chosen_session(options)
    refuse_newer(session.directory, session.summary.header)
    name = kept_name(options.name)
    redactor = Redactor(secret_variables(os.environ))
    try:
        log = open_to_add(session.directory, person_directory(), redactor)
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
        print(f"{session.id} " + (f"is now called {single_line(name)}" if name else "has no name anymore") + ".")
    return 0
