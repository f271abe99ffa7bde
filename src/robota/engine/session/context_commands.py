"""Commands about the model's context window: show it, condense it, undo a reduction, pin turns."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, assert_never

from robota.engine.context.reducer import CannotRestore
from robota.engine.record.journal import EventBus, Journal
from robota.engine.runtime.user_input import AskTable
from robota.engine.task.runner import TaskRunner
from robota.engine.task.task import Task
from robota.log.errors import LogError
from robota.log.replay.recorded_turns import recorded_turns
from robota.protocol.commands import (
    Accepted,
    CondenseContext,
    CondensePreviewRequest,
    ContextCommand,
    ContextRequest,
    PinTurn,
    Receipt,
    Refused,
    RestoreContext,
)
from robota.protocol.events import CondensePreview, ContextUpdate
from robota.protocol.slash_commands import CommandShown
from robota.protocol.views import TextView

NO_TASK: Final = Refused(code="no_active_task", message="There is no task.")
ANSWERING: Final = Refused(code="task_busy", message="The model is answering. Nothing was changed; try again later.")
CONDENSED: Final = Accepted(outcome=CommandShown(view=TextView(text="The conversation was condensed.")))
NOT_CONDENSED: Final = Refused(code="not_condensed", message="The conversation was not condensed and stays as it is.")
# Condensing would close the call, and the model would not get its result.
CALL_WAITS: Final = Refused(
    code="call_waits",
    message="A call waits for your answer (robota state shows it). Nothing was condensed; answer it first.",
)
NOTHING_TO_CONDENSE: Final = Refused(
    code="nothing_to_condense", message="The unpinned part of the conversation is too short."
)


class ContextCommands:
    """Handles the context commands for the running task, or for the one that waits to be resumed."""

    def __init__(
        self,
        runner: TaskRunner,
        asks: AskTable,
        journal: Journal,
        bus: EventBus,
        open_task: Callable[[], Awaitable[Task | Refused]],
    ) -> None:
        """`open_task` returns the task to act on, or the refusal if there is none."""
        self._runner = runner
        self._asks = asks
        self._journal = journal
        self._bus = bus
        self._open_task = open_task

    async def handle(self, command: ContextCommand) -> Receipt:
        """Carry the command out, or refuse it and change nothing."""
        match command:
            case ContextRequest():
                return self._emit(await self.update())
            case CondensePreviewRequest():
                return self._emit(await self.preview())
            case CondenseContext():
                return await self._condense(command)
            case RestoreContext():
                return await self._restore(command)
            case PinTurn():
                return await self._pin(command)
            case _:
                assert_never(command)

    async def update(self) -> ContextUpdate | Refused:
        """What fills the context window, entry by entry."""
        task = await self._open_task()
        return task if isinstance(task, Refused) else task.context_update()

    async def preview(self) -> CondensePreview | Refused:
        """What condensing would do to the conversation now."""
        task = await self._open_task()
        return task if isinstance(task, Refused) else task.condense_preview() or NOTHING_TO_CONDENSE

    def _emit(self, event: ContextUpdate | CondensePreview | Refused) -> Receipt:
        if isinstance(event, Refused):
            return event
        self._bus.emit(event)
        return Accepted()

    async def _condense(self, command: CondenseContext) -> Receipt:
        """A task that waits for a prompt condenses now; any other does so before its next request."""
        task = await self._open_task()
        if isinstance(task, Refused):
            return task
        if await self._runner.has_ended():
            return NO_TASK
        pending = self._asks.newest
        if self._is_answering(task):
            return ANSWERING
        if pending is not None and pending.takes_commands:
            pending.future.set_result(command)
            return Accepted()
        if self._runner.current is None and not task.runtime.options.attended:
            paused = self._runner.paused
            if paused is not None and paused.task.waiting_ask is not None and paused.task.open_calls:
                return CALL_WAITS
            # Print mode ends after the command, so there is no next request.
            return CONDENSED if await task.context.condense_now(command.text or "") else NOT_CONDENSED
        task.context.request_condensing(command.text or "")
        return Accepted(is_deferred=True)

    async def _restore(self, command: RestoreContext) -> Receipt:
        """Undo a reduction from the log. The task may start a request while the log is read, so check again after."""
        task = await self._open_task()
        if isinstance(task, Refused):
            return task
        try:
            recorded = await asyncio.to_thread(recorded_turns, self._journal.path, task.runtime.task_id)
            if self._is_answering(task):
                return ANSWERING
            task.context.restore(command.id, recorded)
        except (CannotRestore, LogError) as refusal:
            return Refused(code="cannot_restore", message=str(refusal))
        return Accepted()

    async def _pin(self, command: PinTurn) -> Receipt:
        task = await self._open_task()
        if isinstance(task, Refused):
            return task
        history = task.runtime.history
        shown = {piece.number for piece in history.pieces if piece.reduction is None}
        if command.is_pinned and command.turn not in shown:
            message = (
                f"Turn {command.turn} is not in the context, so it cannot be pinned. /context all lists the turn "
                "numbers."
            )
            return Refused(code="unknown_turn", message=message)
        history.pin(command.turn, command.is_pinned)
        return Accepted()

    def _is_answering(self, task: Task) -> bool:
        """Whether a request runs or is about to start, so that the conversation must not change."""
        pending = self._asks.newest
        return task.runtime.rows.info.is_streaming or (pending is not None and pending.is_settled)
