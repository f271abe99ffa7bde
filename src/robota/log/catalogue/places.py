"""The directories with sessions, of one project or of all known projects."""

import os
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.head import note_name, note_names, noted_directories
from robota.log.store import PROJECT_DIRECTORY, SESSIONS, fallback_directory, is_valid_session_id

PROJECTS: Final = "projects"


class SessionsPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A `sessions` directory, and the names of those in it that were written on this machine."""

    directory: Path
    own: frozenset[str] = frozenset()


def project_places(root: Path, user_directory: Path | None) -> tuple[SessionsPlace, ...]:
    """The places of a project's sessions: in the project, or in the user's directory if the project is not writable."""
    places = [root / PROJECT_DIRECTORY / SESSIONS]
    if user_directory is not None:
        places.append(fallback_directory(user_directory, root) / SESSIONS)
    notes = note_names(user_directory) if user_directory is not None else frozenset()
    return tuple(_sessions_place(path, notes) for path in places)


def all_places(root: Path, user_directory: Path | None) -> tuple[SessionsPlace, ...]:
    """The places of all projects that this machine has noted, this project's first."""
    by_directory = {place.directory: place for place in project_places(root, user_directory)}
    if user_directory is None:
        return tuple(by_directory.values())
    noted = noted_directories(user_directory)
    notes = frozenset(noted)
    directories = {Path(directory).parent for directory in noted.values() if directory}
    for directory in sorted(directories | set(_fallbacks(user_directory))):
        if directory not in by_directory and directory.name == SESSIONS:
            by_directory[directory] = _sessions_place(directory, notes)
    return tuple(by_directory.values())


def session_directories(place: SessionsPlace) -> list[str]:
    """The names of the session directories in a place. Symlinks are not followed."""
    try:
        if place.directory.is_symlink() or place.directory.parent.is_symlink():
            return []
        with os.scandir(place.directory) as entries:
            return [
                entry.name
                for entry in entries
                if is_valid_session_id(entry.name) and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []


def _sessions_place(directory: Path, notes: frozenset[str]) -> SessionsPlace:
    place = SessionsPlace(directory=directory)
    if not notes:
        return place
    real = Path(os.path.realpath(directory))
    own = (name for name in session_directories(place) if note_name(real / name) in notes)
    return SessionsPlace(directory=directory, own=frozenset(own))


def _fallbacks(user_directory: Path) -> list[Path]:
    try:
        return [project / SESSIONS for project in (user_directory / PROJECTS).iterdir()]
    except OSError:
        return []
