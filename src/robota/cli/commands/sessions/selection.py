"""Select the sessions of an action by the options that all actions share."""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from robota.clients.terminal.width import width_of, wrapped
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.log.catalogue.catalogue import CataloguedSession, catalogue
from robota.log.catalogue.find import find_catalogued
from robota.log.catalogue.places import SessionsPlace, all_places, project_places
from robota.log.errors import SessionNotFound
from robota.text.visible import single_line

TITLE_SHOWN: Final = 80
FROM_ELSEWHERE: Final = "was not written on this machine in this directory; someone else may have created it."


def chosen_places(options: argparse.Namespace) -> tuple[SessionsPlace, ...]:
    """The directories to search for sessions. `ConfigError` if the given one does not exist."""
    try:
        root = options.cwd.resolve()
    except OSError as error:
        problem = f"The directory {options.cwd} cannot be used: {error.strerror}. Nothing was changed"
        raise ConfigError(f"{problem}. Use --cwd to name another one.") from error
    user = person_directory()
    return all_places(root, user) if options.all else project_places(root, user)


def chosen_sessions(options: argparse.Namespace) -> tuple[CataloguedSession, ...]:
    """The sessions to choose from, the newest first."""
    return catalogue(chosen_places(options), person_directory(), tell)


def chosen_session(options: argparse.Namespace) -> CataloguedSession:
    """The named session. Prints a notice if it is from another machine."""
    return _told_about(find_catalogued(chosen_sessions(options), options.session))


def named_or_newest_session(options: argparse.Namespace) -> CataloguedSession:
    """The named session; without a name, the newest of this machine, with a notice which one that is."""
    if options.session is not None:
        return chosen_session(options)
    session = newest_session(options)
    title = single_line(session.name or session.summary.title, TITLE_SHOWN)
    tell(f"Using the latest session, {session.id}{f' ({title})' if title else ''}.")
    return session


def newest_session(options: argparse.Namespace) -> CataloguedSession:
    """The most recently written session of this machine. Raises `SessionNotFound`."""
    own = (each for each in chosen_sessions(options) if each.is_own)
    found = next(own, None)
    if found is None:
        raise SessionNotFound(
            f"There is no session of this machine in {options.cwd.resolve()}. Nothing was changed. Name a session; "
            "`robota sessions list` lists them."
        )
    return found


def session_in_project(root: Path, wanted: str) -> CataloguedSession:
    """The named session of this project. Prints a notice if it is from another machine."""
    return _told_about(find_catalogued(sessions_in_project(root), wanted))


def sessions_in_project(root: Path) -> tuple[CataloguedSession, ...]:
    """The sessions of one project, the newest first."""
    user = person_directory()
    return catalogue(project_places(root, user), user, tell)


def _told_about(session: CataloguedSession) -> CataloguedSession:
    if not session.is_own:
        tell(f"The session {session.id} {FROM_ELSEWHERE}")
    return session


def person_directory() -> Path | None:
    """Robota's directory of the user; None if there is no home directory."""
    try:
        return user_directory(os.environ)
    except ConfigError:
        return None


def tell(text: str) -> None:
    """Print a notice that is not part of the output to stderr; on a terminal it is wrapped between words."""
    print(wrapped(f"robota: {single_line(text, 1000)}", width_of(sys.stderr, os.environ), "  "), file=sys.stderr)
