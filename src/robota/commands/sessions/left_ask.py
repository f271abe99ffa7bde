"""What a session was asking when its process ended, according to its log."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from robota.commands.sessions.selection import noted_end, own_directory
from robota.log.chain.reader import LOG_NAME
from robota.log.replay.reading import LogReading
from robota.log.replay.session import SessionFold
from robota.log.replay.tail import tail_of
from robota.log.replay.task import TaskFold
from robota.log.snapshot_keeper import snapshot_path
from robota.protocol.message import Message

MAX_READ_BYTES: Final = 16 * 1024 * 1024


def session_as_left(directory: Path, env: Mapping[str, str]) -> tuple[SessionFold, int]:
    """The rows of the log, and the time of its last record. Of a very long log, only those of its end."""
    user, log = own_directory(env), directory / LOG_NAME
    # A long log is read from its snapshot on, without writing a new one.
    snapshot = None if user is None else snapshot_path(user, directory)
    reading = LogReading(snapshot, noted_end(env, directory), growth=sys.maxsize)
    if reading.takes_more_than(MAX_READ_BYTES, log):
        tail = tail_of(log)
        return tail.session, tail.last_ts
    loaded = reading.read(log)
    return reading.session(), loaded.last_ts


def left_open(task: TaskFold) -> Message | None:
    """The ask that can still be answered. A command that was already started is not offered again."""
    waiting = task.waiting_ask
    if waiting is None or (waiting.ask == "command" and waiting.call_id in task.started_calls):
        return None
    return waiting
