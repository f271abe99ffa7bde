"""Traces what killed sessions changed, when a later session or command of the same workspace looks at the trace."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from robota.config.errors import ConfigError
from robota.intents.intent_files import IntentFiles
from robota.intents.recovery.late_trace import LateTrace
from robota.intents.recovery.tracing_sessions import TracingSession, TracingSessions
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.writer import SessionLog
from robota.log.errors import LogError
from robota.log.reopening import open_to_add
from robota.workspace.process.lock_holder import holder_of

# The intents of a workspace, or None; the trace of a session, which may raise `ConfigError`.
FindFiles = Callable[[Path], IntentFiles | None]
MakeLateTrace = Callable[[IntentFiles, SessionLog], LateTrace]


def trace_killed(home: Path, user_directory: Path, find_files: FindFiles, make: MakeLateTrace) -> None:
    """Trace what is missing in `home`. Sessions that run do it themselves. What fails is tried again next time."""
    is_settled = partial(_is_settled, user_directory=user_directory, find_files=find_files, make=make)
    with suppress(OSError, ConfigError):
        TracingSessions(home, user_directory).settle(is_settled)


def _is_settled(session: TracingSession, user_directory: Path, find_files: FindFiles, make: MakeLateTrace) -> bool:
    """Trace what a session changed, unless it runs. Returns whether nothing of it is missing now, or never can be."""
    directory = Path(session.directory)
    files = find_files(Path(session.root))
    if files is None or not (directory / LOG_NAME).exists():
        return True
    holder = holder_of(directory / LOG_NAME)
    if holder is not None and holder.command:  # a child of a killed process, which has none, is waited for below
        return False
    try:
        log = open_to_add(directory, user_directory)
    except LogError:  # it was resumed just now, or it cannot be read
        return False
    try:
        return make(files, log).catch_up()
    except ConfigError:
        return False
    finally:
        log.close()
