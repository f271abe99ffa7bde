"""Keeps the snapshot of a session that is being written close to the end of its log."""

from contextlib import suppress
from pathlib import Path
from threading import Lock

from robota.log.chain.head import head_path, note_name, noted_head
from robota.log.chain.reader import LOG_NAME

SNAPSHOTS = "snapshots"


def snapshot_path(user_directory: Path, session_directory: Path) -> Path:
    """Where the snapshot of a session is kept: outside the workspace, where no repository can plant one."""
    return user_directory / SNAPSHOTS / note_name(session_directory.resolve())


def drop_snapshot(user_directory: Path, session_directory: Path) -> None:
    """Remove the snapshot of a session that is to be deleted, if it has one. `session_directory` still has its name."""
    with suppress(OSError):
        snapshot_path(user_directory, session_directory).unlink(missing_ok=True)


class SnapshotKeeper:
    """Called when the log has grown. After a failure it does nothing more: the next opening makes a snapshot."""

    def __init__(self, user_directory: Path, session_directory: Path) -> None:
        self._log = session_directory / LOG_NAME
        self._file = snapshot_path(user_directory, session_directory)
        self._head_file = head_path(user_directory, session_directory)
        self._lock = Lock()
        self._has_failed = False

    def __call__(self) -> None:
        # Most sessions end before their log is so long.
        from robota.log.replay.reading import LogReading

        with self._lock:
            if not self._has_failed:
                reading = LogReading(self._file, noted_head(self._head_file))
                self._has_failed = not reading.refresh(self._log)
