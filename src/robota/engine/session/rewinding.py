"""Rewinding a session while it is open: handles the commands of clients and answers with events."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar

import msgspec

from robota.contracts.rewind import RewindError, RewindService
from robota.engine.record.journal import Journal
from robota.engine.session.decision import ChangeFailed, Changes, Decision, SessionChange
from robota.log.replay.reading import LogReading
from robota.log.replay.session import SessionFold
from robota.protocol.commands import (
    Accepted,
    ListRewindPoints,
    Receipt,
    Refused,
    RewindCommand,
    RewindRequest,
    ShowRewindDiff,
)
from robota.protocol.events import Event, RewindDiff, RewindPoints, RewindPreview, Rewound
from robota.protocol.rewind import PromptPoint, RewindResult

T = TypeVar("T")

BUSY: Final = Refused(
    code="task_busy", message="The agent is working. Nothing was changed; stop it first, or wait until it has finished."
)
CHANGED: Final = Refused(
    code="no_rewind", message="Files have changed since this preview. Nothing was changed; review it again."
)
CANNOT_REWIND: Final = Refused(code="no_rewind", message="This session cannot be rewound. Nothing was changed.")


class RewoundSession(Protocol):
    """The part of `Session` that rewinding uses."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs: there is no task, or it only waits for the next prompt."""
        ...

    async def stop_task(self) -> None:
        """Stop the task immediately."""
        ...

    async def resume_after_rewind(self) -> None:
        """Reload the task from the log; a question that is open again is asked again."""
        ...


async def session_as_logged(journal: Journal) -> tuple[SessionFold, int]:
    """The session as its log has it now, and the time of the last record."""
    reading = LogReading()
    loaded = await asyncio.to_thread(reading.read, journal.path)
    return reading.session(), loaded.last_ts


class SessionRewind:
    """Handles the rewind commands. `make_service` is called with the first of them."""

    def __init__(
        self,
        session: RewoundSession,
        make_service: Callable[[], RewindService] | None,
        changes: Changes,
        emit: Callable[[Event], None],
    ) -> None:
        self._session = session
        self._changes = changes
        self._make_service = make_service
        self._emit = emit
        self._service: RewindService | None = None

    async def points(self) -> tuple[PromptPoint, ...] | Refused:
        """Every prompt of the session."""
        return await self._answer(lambda service: service.points())

    async def diff(self, number: int | None) -> str | Refused:
        """What a prompt changed, or all since the first change."""
        return await self._answer(lambda service: service.diff(number))

    async def preview(self, order: RewindRequest) -> RewindResult | Refused:
        """What going back would change."""
        return await self._answer(lambda service: service.preview(order))

    async def go(self, order: RewindRequest) -> RewindResult | Refused:
        """Rewind, inform every client, and offer to resume the task."""
        return await self._changes.make(lambda: self._decide(order))

    async def handle(self, command: RewindCommand) -> Receipt:
        """Answer a command with an event."""
        match command:
            case ListRewindPoints():
                points = await self.points()
                if isinstance(points, Refused):
                    return points
                self._emit(RewindPoints(points=points, request_id=command.request_id))
            case ShowRewindDiff():
                diff = await self.diff(command.number)
                if isinstance(diff, Refused):
                    return diff
                self._emit(RewindDiff(diff=diff, request_id=command.request_id))
            case _:
                result = await (self.preview(command) if command.is_preview else self.go(command))
                if isinstance(result, Refused):
                    return result
                if command.is_preview:
                    self._emit(RewindPreview(result=result, request_id=command.request_id))
        return Accepted()

    async def _decide(self, order: RewindRequest) -> Decision[RewindResult]:
        """The preview finds everything that speaks against the rewind, while the task still waits as it did."""
        if not self._session.is_idle:
            return BUSY
        preview = await self.preview(order)
        if isinstance(preview, Refused):
            return preview
        if order.state and order.state != preview.state:
            return CHANGED
        # The task may have gone on by itself while the log was read.
        return SessionChange(lambda: self._rewind_to(order, preview)) if self._session.is_idle else BUSY

    async def _rewind_to(self, order: RewindRequest, preview: RewindResult) -> RewindResult:
        result = await self._answer(lambda service: self._rewind(service, order, preview))
        if isinstance(result, Refused):
            raise ChangeFailed(result)
        self._emit(Rewound(result=result, request_id=order.request_id))
        await asyncio.sleep(0)  # lets the reloaded task ask, so that the next command finds the session idle
        return result

    async def _rewind(self, service: RewindService, order: RewindRequest, preview: RewindResult) -> RewindResult:
        if not preview.changes_conversation:
            return await service.carry_out(order)
        # The records of the task's end must come before the rewind, on the branch that is abandoned.
        await self._session.stop_task()
        try:
            result = await service.carry_out(order)
        finally:
            await self._session.resume_after_rewind()
        return msgspec.structs.replace(result, saved_new_work=result.saved_new_work or preview.saved_new_work)

    async def _answer(self, ask: Callable[[RewindService], Awaitable[T]]) -> T | Refused:
        if self._make_service is None:
            return CANNOT_REWIND
        self._service = self._service or self._make_service()
        try:
            return await ask(self._service)
        except RewindError as error:
            return Refused(code="no_rewind", message=f"{str(error).rstrip('.')}.")
