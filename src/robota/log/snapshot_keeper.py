"""Keeps the snapshot of a session that is being written close to the end of its log."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock

from robota.log.chain.head import head_path, note_name, noted_head
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import LogUnreadable

SNAPSHOTS = "snapshots"
# The user waits for it on exit.
MAX_SECONDS = 10.0
# The running session has priority.
NICENESS = 10


def snapshot_path(user_directory: Path, session_directory: Path) -> Path:
    """Where the snapshot of a session is kept: outside the workspace, where no repository can plant one."""
    return user_directory / SNAPSHOTS / note_name(session_directory.resolve())


def rewind_index_path(user_directory: Path, session_directory: Path) -> Path:
    """The path of the cached rewind history of a session, next to its snapshot."""
    snapshot = snapshot_path(user_directory, session_directory)
    return snapshot.with_name(f"{snapshot.name}.rewind")


def drop_snapshot(user_directory: Path, session_directory: Path) -> None:
    """Remove the files derived from a session's log. Must be called before `session_directory` is renamed."""
    for path in (snapshot_path, rewind_index_path):
        with suppress(OSError):
            path(user_directory, session_directory).unlink(missing_ok=True)


class SnapshotKeeper:
    """Called when the log has grown. After a failure it does nothing more: the next opening makes a snapshot.

    The log is read in another process: here it would block the session, and the conversation would be in memory twice,
    which Python does not release.
    """

    def __init__(self, user_directory: Path, session_directory: Path) -> None:
        self._arguments = (str(user_directory.absolute()), str(session_directory.absolute()))
        self._lock = Lock()
        self._has_failed = False

    def __call__(self) -> None:
        # Imported here because most sessions end before their log is that long.
        from robota.workspace.process.python_child import ChildFailed, module_output

        with self._lock:
            if self._has_failed:
                return
            try:
                module_output(__name__, self._arguments, b"", timeout_s=MAX_SECONDS)
            except ChildFailed:
                self._has_failed = True


def main(user_directory: Path, session_directory: Path) -> int:
    """Update the files derived from a session's log; the exit code says whether the snapshot was updated."""
    from robota.log.replay.reading import LogReading
    from robota.log.replay.rewind_points import read_rewind_history

    os.nice(NICENESS)
    noted = noted_head(head_path(user_directory, session_directory))
    log = session_directory / LOG_NAME
    is_refreshed = LogReading(snapshot_path(user_directory, session_directory), noted).refresh(log)
    with suppress(OSError, LogUnreadable):
        read_rewind_history(log, rewind_index_path(user_directory, session_directory))
    return 0 if is_refreshed else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
