"""Follows the records of a log that another process writes, until that process ends."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from robota.log.catalogue.live import is_held
from robota.log.chain.growth import GrownRecord, LogPosition, continues, records_since
from robota.log.errors import LogUnreadable
from robota.log.watch.file_changes import changes_of

LOOKED_AT: Final = "This system does not report file changes; the log is checked twice a second."
# Closing the file is reported shortly before the lock is released.
LOCK_TRIES: Final = 50
LOCK_PAUSE_S: Final = 0.02


def follow(log: Path, position: LogPosition, notify: Callable[[str], None]) -> Iterator[GrownRecord]:
    """The records after a position, then each new one. Ends when no process is writing the log any more.

    An unfinished line is not read until it is complete. Raises `LogUnreadable` if the log disappears.
    """
    with changes_of(log) as changes:
        if not changes.has_notifications:
            notify(LOOKED_AT)
        while True:
            is_written, size = is_held(log), _size(log)
            for grown in _new_records(log, position):
                position = grown.position
                yield grown
            if not is_written:
                return
            changes.wait()
            _let_a_leaving_writer_go(log, size)


def _new_records(log: Path, position: LogPosition) -> Iterator[GrownRecord]:
    if not continues(log, position):
        raise LogUnreadable(f"The log {log} was replaced by another one while it was watched. Watch it again.")
    try:
        yield from records_since(log, position)
    except OSError as error:
        raise LogUnreadable(f"The log {log} can no longer be read: {error.strerror}.") from error


def _let_a_leaving_writer_go(log: Path, size: int) -> None:
    """Wait a moment if the log did not grow: most likely its writer is closing it."""
    for _ in range(LOCK_TRIES):
        if _size(log) != size or not is_held(log):
            return
        time.sleep(LOCK_PAUSE_S)


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return -1
