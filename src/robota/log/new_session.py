"""Creates a session: an id, a directory, and an empty log in it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.head import head_path
from robota.log.chain.writer import SessionLog
from robota.log.errors import LogExists
from robota.log.snapshot_keeper import SnapshotKeeper
from robota.log.store import check_session_id, fallback_directory, new_session_id, prepare_project_directory
from robota.secrets.redaction import Redactor

SESSION_ID_BYTES: Final = 10


class NewSession(msgspec.Struct, frozen=True, kw_only=True):
    """`notices` are lines for the user."""

    id: str
    log: SessionLog
    notices: tuple[str, ...] = ()


def begin_session(
    root: Path,
    user_directory: Path,
    now_ms: Callable[[], int],
    wanted_id: str | None,
    redactor: Redactor | None = None,
) -> NewSession:
    """Raises `LogError`; an invalid id is rejected before anything is created."""
    if wanted_id is not None:
        check_session_id(wanted_id)
    session_id = wanted_id or new_session_id(now_ms(), os.urandom(SESSION_ID_BYTES))
    fallback = fallback_directory(user_directory, root)
    place = prepare_project_directory(root, fallback)
    directory = place.session(session_id)
    notices = (f"The session is kept in {place.directory}: {place.reason}.",) if place.reason else ()
    try:
        log = SessionLog.create(
            directory,
            now_ms,
            redactor,
            head_file=head_path(user_directory, directory),
            prepare=lambda: prepare_project_directory(root, fallback),
        )
    except LogExists as error:
        raise LogExists(f"There is already a session {session_id}. Choose another --session-id.") from error
    log.on_growth(SnapshotKeeper(user_directory, directory))
    return NewSession(id=session_id, log=log, notices=notices)
