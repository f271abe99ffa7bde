"""Removes what killed processes left of changes to shared files.

It runs at every start, so nothing is imported unless there is something to remove.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from robota.config.durable_file import directory_inside, has_entries
from robota.config.paths import user_directory
from robota.config.transaction import JOURNAL, journal_for, remove_leftovers
from robota.config.trust.lock_file import CONTENTS, PLUGINS
from robota.log.store import PROJECT_DIRECTORY, SESSIONS, fallback_directory

USER_MEMORY: Final = "memory"
PROJECT_MEMORY: Final = f"{PROJECT_DIRECTORY}/memory"
# Directories of the user whose files are changed one at a time, and those in a workspace.
USER_DIRECTORIES: Final = ("cache", "intents", "mcp-sign-in", "traces")
PROJECT_DIRECTORIES: Final = (PROJECT_DIRECTORY, ".orchestration")
TOPICS: Final = "topics"
SESSION_DRAFTS: Final = ".new"


def remove_leftovers_of_killed(root: Path, kept_in: Path, env: Mapping[str, str]) -> None:
    """Finish or undo unfinished changes. Sessions of the workspace `root` are stored in `kept_in`."""
    user = user_directory(env)
    remove_leftovers(user, journal=user / JOURNAL, inside=(CONTENTS, PLUGINS))
    memory = user / USER_MEMORY
    remove_leftovers(memory, journal=journal_for(user, memory), inside=(TOPICS,))
    for name in USER_DIRECTORIES:
        remove_leftovers(user / name)
    for each in {root, kept_in}:
        _in_project(each, user)


def _in_project(project: Path, user: Path) -> None:
    for name in PROJECT_DIRECTORIES:
        with suppress(OSError), directory_inside(project, Path(name), make=False) as directory:
            remove_leftovers(directory)
    with suppress(OSError), directory_inside(project, Path(PROJECT_MEMORY), make=False) as memory:
        journal = journal_for(user, project / PROJECT_MEMORY)
        # A link in place of the topics directory could lead elsewhere.
        inside = () if (memory / TOPICS).is_symlink() else (TOPICS,)
        remove_leftovers(memory, journal=journal, inside=inside)
    with suppress(OSError), directory_inside(project, Path(PROJECT_DIRECTORY, SESSIONS), make=False) as sessions:
        _remove_session_drafts(sessions)
    _remove_session_drafts(fallback_directory(user, project) / SESSIONS)


def _remove_session_drafts(sessions: Path) -> None:
    if has_entries(sessions / SESSION_DRAFTS):
        from robota.log.transfer.draft import remove_abandoned_drafts

        remove_abandoned_drafts(sessions)
