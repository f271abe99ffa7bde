"""`robota sessions delete`: move a session to the trash, and back."""

import argparse
from pathlib import Path
from typing import Any

from robota.cli.commands.sessions.selection import chosen_places, chosen_session, person_directory
from robota.cli.output import print_json
from robota.log.catalogue.places import session_directories
from robota.log.catalogue.trash import delete_session, find_trashed, trashed_sessions, undelete_session
from robota.log.chain.writer import wall_clock_ms
from robota.log.errors import SessionNotFound
from robota.log.snapshot_keeper import drop_snapshot


def run(options: argparse.Namespace) -> int:
    """Move one session to the trash, or back with `--undo`."""
    if options.undo:
        back = find_trashed(trashed_sessions(chosen_places(options)), options.session)
        directory = undelete_session(back)
        _tell(options, {"id": back.id, "path": str(directory)}, f"{back.id} was restored.")
        return 0
    directory = _directory(options)
    trashed = delete_session(directory, wall_clock_ms())
    user = person_directory()
    if user is not None:
        drop_snapshot(user, directory)
    way_back = f"`robota sessions delete --undo {trashed.id}` restores it"
    text = f"{trashed.id} was moved to the trash. {way_back}, `robota sessions prune` removes it for good."
    _tell(options, {"id": trashed.id, "path": str(trashed.directory)}, text)
    return 0


def _directory(options: argparse.Namespace) -> Path:
    """The directory of the session; one without a log can only be named by its id."""
    try:
        return chosen_session(options).directory
    except SessionNotFound:
        for place in chosen_places(options):
            if options.session in session_directories(place):
                return place.directory / str(options.session)
        raise


def _tell(options: argparse.Namespace, value: dict[str, Any], text: str) -> None:
    if options.json:
        print_json(value)
    else:
        print(text)
