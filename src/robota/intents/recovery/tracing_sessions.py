"""Notes in the user's directory about sessions that trace changes, removed when they end with everything traced.

A note whose session is not running belongs to a killed one. Without these notes, every command that reads the trace
would have to search all logs for calls that were cut off.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from robota.config.durable_file import has_entries
from robota.config.transaction import transaction


class TracingSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that traces changes: the directory of its log, and its workspace."""

    directory: str
    root: str

    @property
    def id(self) -> str:
        return Path(self.directory).name


class TracingSessions:
    """The sessions that write the trace in `home`."""

    def __init__(self, home: Path, user_directory: Path) -> None:
        key = sha256(os.fsencode(home.resolve())).hexdigest()[:32]
        self._directory = user_directory / "traces" / "sessions" / key

    def add(self, session: TracingSession) -> None:
        """Note a session before its first change. Raises `OSError`."""
        with transaction(self._directory) as files:
            files.write(session.id, msgspec.json.encode(session))

    def has(self, session_id: str) -> bool:
        """Whether there is a note about a session."""
        return (self._directory / session_id).exists()

    def remove(self, session_id: str) -> None:
        """Remove a note: nothing of the session is missing in the trace."""
        with suppress(OSError), transaction(self._directory, make=False) as files:
            files.remove(session_id)

    def settle(self, is_settled: Callable[[TracingSession], bool]) -> None:
        """Remove the notes of the sessions that are settled. One process does this at a time; others wait for it.

        Raises `OSError`.
        """
        if not has_entries(self._directory):
            return
        with transaction(self._directory, make=False):
            for session in list(self._read()):
                if is_settled(session):
                    (self._directory / session.id).unlink(missing_ok=True)

    def _read(self) -> Iterator[TracingSession]:
        for path in sorted(self._directory.iterdir()):
            with suppress(OSError, msgspec.DecodeError):
                yield msgspec.json.decode(path.read_bytes(), type=TracingSession)
