"""Which session a command about changes means, and where its files are."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from robota.cli.commands.sessions.selection import session_in_project
from robota.config.paths import user_directory
from robota.log.chain.head import head_path, noted_head
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import SessionNotFound
from robota.log.store import SessionEntry, fallback_directory, list_sessions

CHECKPOINT_LINE: Final = b'"kind":"checkpoint"'


def chosen_session(root: Path, wanted: str | None, env: Mapping[str, str]) -> Path:
    """The directory of the session that is named, or of the newest of this machine that has checkpoints.

    A repository can bring logs along; those of this machine are known outside it. Raises `SessionNotFound`.
    """
    if wanted is not None:
        return session_in_project(root, wanted).directory
    user = user_directory(env)
    for entry in list_sessions(root, fallback_directory(user, root)):
        if noted_head(head_path(user, entry.directory)) is not None and _has_checkpoints(entry):
            print(f"robota: this is about the session {entry.id}, the newest with checkpoints", file=sys.stderr)
            return entry.directory
    raise SessionNotFound(
        f"No session of this machine in {root} has changed anything. Nothing was changed. Name one with --session."
    )


def session_workspace(directory: Path, root: Path, env: Mapping[str, str]) -> Path:
    """Where a session worked: a worktree for one that had its own. A log from elsewhere is not believed."""
    entries = list_sessions(root, fallback_directory(user_directory(env), root))
    header = next((entry.header for entry in entries if entry.directory == directory), None)
    if header is None or noted_head(head_path(user_directory(env), directory)) is None:
        return root
    place = Path(header.cwd)
    return place if place.is_dir() else root


def _has_checkpoints(entry: SessionEntry) -> bool:
    try:
        with (entry.directory / LOG_NAME).open("rb") as lines:
            return any(CHECKPOINT_LINE in line for line in lines)
    except OSError:
        return False
