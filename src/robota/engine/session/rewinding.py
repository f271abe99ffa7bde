"""Going back while a session is open: commands of clients, answered with events."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar

import msgspec

from robota.contracts.rewind import RewindError, RewindService
from robota.engine.record.journal import Journal
from robota.log.kinds.session import EndRecord
from robota.log.replay.reading import LogReading
from robota.log.replay.session import ReplayedSession
from robota.protocol.commands import Accepted, ListRewindPoints, Receipt, Refused, RewindRequest, ShowRewindDiff
from robota.protocol.events import Event, RewindDiff, RewindPoints, RewindPreview, Rewound
from robota.protocol.rewind import PromptPoint, RewindResult

T = TypeVar("T")
RewindCommand = ListRewindPoints | ShowRewindDiff | RewindRequest

BUSY: Final = Refused(
    code="task_busy", message="Something runs. Nothing was changed; stop it first, or wait until it is done."
)
NO_WAY_BACK: Final = Refused(code="no_rewind", message="This session cannot be taken back. Nothing was changed.")


class RewoundSession(Protocol):
    """What of a session is needed to go back in it."""

    async def is_at_rest(self) -> bool:
        """Whether nothing runs: no task, or one that has nothing more to do than to be talked to."""
        ...

    async def stop_task(self) -> None:
        """End the task here and now."""
        ...

    async def go_on_where_it_went_back(self) -> None:
        """Go on with the task as the log has it, or with none; what is open again is asked again."""
        ...


async def session_as_logged(journal: Journal) -> tuple[ReplayedSession, int]:
    """The session as its log tells it now, and when it was last written. Subtasks that nobody runs any more end."""
    reading = LogReading()
    loaded = await asyncio.to_thread(reading.read, journal.path)
    replayed = reading.session()
    for task in replayed.tasks.values():
        if task.parent_task_id is not None and task.outcome is None:
            journal.write(EndRecord(task_id=task.task_id, outcome="interrupted"))
    return replayed, loaded.last_ts


class SessionRewind:
    """Obeys the commands about going back. `make_service` is called when the first of them comes."""

    def __init__(
        self,
        session: RewoundSession,
        make_service: Callable[[], RewindService] | None,
        emit: Callable[[Event], None],
    ) -> None:
        self._session = session
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
        """Go back. Every client is told, and then what there is to do next is asked."""
        if not await self._session.is_at_rest():
            return BUSY
        result = await self._answer(lambda service: self._gone(service, order))
        if not isinstance(result, Refused):
            self._emit(Rewound(result=result, request_id=order.request_id))
            await asyncio.sleep(0)  # now the task that was taken up asks, so that the next command finds it at rest
        return result

    async def obey(self, command: RewindCommand) -> Receipt:
        """Answer the command of a client with an event."""
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
                return await self._obey_order(command)
        return Accepted()

    async def _obey_order(self, order: RewindRequest) -> Receipt:
        result = await (self.preview(order) if order.is_preview else self.go(order))
        if isinstance(result, Refused):
            return result
        if order.is_preview:
            self._emit(RewindPreview(result=result, request_id=order.request_id))
        return Accepted()

    async def _gone(self, service: RewindService, order: RewindRequest) -> RewindResult:
        preview = await service.preview(order)
        if not preview.changes_conversation:
            return await service.carry_out(order)
        # What the end of a task writes must stand before the way back, on the branch that is left.
        await self._session.stop_task()
        try:
            result = await service.carry_out(order)
        finally:
            await self._session.go_on_where_it_went_back()
        return msgspec.structs.replace(result, saved_new_work=result.saved_new_work or preview.saved_new_work)

    async def _answer(self, ask: Callable[[RewindService], Awaitable[T]]) -> T | Refused:
        if self._make_service is None:
            return NO_WAY_BACK
        self._service = self._service or self._make_service()
        try:
            return await ask(self._service)
        except RewindError as error:
            return Refused(code="no_rewind", message=f"{str(error).rstrip('.')}.")
