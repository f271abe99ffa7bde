"""Find the session for a command about changes, and the directory of its files."""

from pathlib import Path
from typing import Final

from robota.cli.commands.sessions.selection import session_in_project, sessions_in_project, tell
from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import SessionNotFound

CHECKPOINT_LINE: Final = b'"kind":"checkpoint"'


def chosen_session(root: Path, wanted: str | None) -> CataloguedSession:
    """The named session, or the newest one of this machine that has checkpoints.

    A repository can contain logs; those written on this machine are recorded outside it. Raises `SessionNotFound`.
    """
    if wanted is not None:
        return session_in_project(root, wanted)
    for session in sessions_in_project(root):
        if session.is_own and _has_checkpoints(session.directory / LOG_NAME):
            tell(f"Using session {session.id}, the latest with checkpoints.")
            return session
    raise SessionNotFound(
        f"No session on this machine has changed anything in {root}. Nothing was changed. Name a session with "
        "--session."
    )


def session_workspace(session: CataloguedSession, root: Path) -> Path:
    """The directory in which a session worked: its worktree if it had one.

    A log from another machine is not trusted. In one that was resumed here, the newest header counts, written here.
    """
    place = Path(session.cwd)
    return place if session.is_own and place.is_dir() else root


def _has_checkpoints(log: Path) -> bool:
    try:
        with log.open("rb") as lines:
            return any(CHECKPOINT_LINE in line for line in lines)
    except OSError:
        return False
