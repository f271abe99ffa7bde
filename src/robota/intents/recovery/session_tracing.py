"""Notes which calls of a session are traced, so that nothing is missing in the trace if its process is killed."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from robota.intents.recovery.traced_calls import TraceBeginRecord, TraceEndRecord
from robota.intents.recovery.tracing_sessions import TracingSession, TracingSessions
from robota.intents.trace_file import TraceProblem
from robota.log.chain.writer import SessionLog
from robota.log.errors import LogError

if TYPE_CHECKING:
    from robota.intents.recovery.late_trace import LateTrace


class SessionTracing:
    """The calls of an open session. What a killed process left of the session is traced first."""

    def __init__(
        self, log: SessionLog, root: Path, sessions: TracingSessions, late_trace: "Callable[[], LateTrace]"
    ) -> None:
        """`late_trace` traces calls of this log that were cut off."""
        self._log = log
        self._session = TracingSession(directory=str(log.path.parent), root=str(root))
        self._sessions = sessions
        self._late_trace = late_trace
        self._untraced: set[str] = set()
        self._is_noted = sessions.has(self._session.id)
        if self._is_noted:
            late_trace().catch_up()

    async def begin(self, record: TraceBeginRecord) -> None:
        """Note a call before it may run. Raises `TraceProblem` if that fails, because its changes could be lost."""
        try:
            if not self._is_noted:
                await asyncio.to_thread(self._sessions.add, self._session)
                self._is_noted = True
            self._log.append(record)
        except (OSError, LogError) as error:
            raise TraceProblem(f"the call cannot be noted: {error}") from error
        self._untraced.add(record.call_id)

    def end(self, call_id: str) -> None:
        """Note that everything a call changed is in the trace."""
        with suppress(LogError):
            self._log.append(TraceEndRecord(call_id=call_id))
            self._untraced.discard(call_id)

    def close(self) -> None:
        """Trace the calls that were stopped. If nothing is missing then, the session needs no note any more."""
        if self._is_noted and (not self._untraced or self._late_trace().catch_up()):
            self._sessions.remove(self._session.id)
