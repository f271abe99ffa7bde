"""Which session a command about changes means, and where its files are."""

from pathlib import Path
from typing import Final

from robota.cli.commands.sessions.selection import session_in_project, sessions_in_project, tell
from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import SessionNotFound

CHECKPOINT_LINE: Final = b'"kind":"checkpoint"'


def chosen_session(root: Path, wanted: str | None) -> CataloguedSession:
    """The session that is named, or the newest of this machine that has checkpoints.

    A repository can bring logs along; those of this machine are known outside it. Raises `SessionNotFound`.
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
    """Where a session worked: a worktree for one that had its own.

    A log from elsewhere is not believed. In one that was taken up here the newest header counts, which is of here.
    """
    place = Path(session.cwd)
    return place if session.is_own and place.is_dir() else root


def _has_checkpoints(log: Path) -> bool:
    try:
        with log.open("rb") as lines:
            return any(CHECKPOINT_LINE in line for line in lines)
    except OSError:
        return False
