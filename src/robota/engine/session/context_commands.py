"""Commands about the model's context window: show it, condense it, undo a reduction, pin turns."""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar, assert_never

from robota.engine.context.reducer import CannotRestore, chosen_reduction
from robota.engine.record.journal import EventBus, Journal
from robota.engine.runtime.user_input import AskTable
from robota.engine.session.decision import (
    NO_TASK,
    ChangeFailed,
    Changes,
    Decision,
    SessionChange,
    ToolsNeeded,
    accepting,
)
from robota.engine.task.runner import TaskRunner
from robota.engine.task.task import Task
from robota.log.errors import LogError
from robota.log.replay.reading import context_without
from robota.protocol.commands import (
    Accepted,
    CondenseContext,
    CondensePreviewRequest,
    ContextCommand,
    ContextRequest,
    PinTurn,
    Refused,
    RestoreContext,
)
from robota.protocol.events import CondensePreview, ContextUpdate
from robota.protocol.slash_commands import CommandShown
from robota.protocol.views import TextView

T = TypeVar("T")

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
    """Decides on the context commands, for the running task or the one that waits to be resumed."""

    def __init__(
        self,
        runner: TaskRunner,
        asks: AskTable,
        journal: Journal,
        bus: EventBus,
        changes: Changes,
        open_task: Callable[[], Task | Refused | ToolsNeeded],
    ) -> None:
        """`open_task` returns the task to act on, or the reason why there is none yet."""
        self._runner = runner
        self._asks = asks
        self._journal = journal
        self._bus = bus
        self._changes = changes
        self._open_task = open_task

    async def update(self) -> ContextUpdate | Refused:
        """What fills the context window, entry by entry."""

        async def decide() -> Decision[ContextUpdate]:
            task = self._open_task()
            return _returning(task.context_update()) if isinstance(task, Task) else task

        return await self._changes.make(decide)

    async def preview(self) -> CondensePreview | Refused:
        """What condensing would do to the conversation now."""

        async def decide() -> Decision[CondensePreview]:
            task = self._open_task()
            if not isinstance(task, Task):
                return task
            preview = task.condense_preview()
            return NOTHING_TO_CONDENSE if preview is None else _returning(preview)

        return await self._changes.make(decide)

    async def decide(self, command: ContextCommand) -> Decision[Accepted]:
        """What the command does."""
        task = self._open_task()
        if not isinstance(task, Task):
            return task
        match command:
            case ContextRequest():
                update = task.context_update()
                return accepting(lambda: self._bus.emit(update))
            case CondensePreviewRequest():
                preview = task.condense_preview()
                return NOTHING_TO_CONDENSE if preview is None else accepting(lambda: self._bus.emit(preview))
            case CondenseContext():
                return self._condensing(task, command)
            case RestoreContext():
                return await self._restoring(task, command)
            case PinTurn():
                return self._pinning(task, command)
            case _:
                assert_never(command)

    def _condensing(self, task: Task, command: CondenseContext) -> Decision[Accepted]:
        """A task that waits for a prompt condenses now; any other does so before its next request."""
        if self._runner.is_over:
            return NO_TASK
        pending = self._asks.newest_of(task.runtime.task_id)
        if self._is_answering(task):
            return ANSWERING
        if pending is not None and pending.takes_commands:
            return accepting(lambda: self._asks.settle(pending, command))
        if self._runner.current is None and not task.runtime.options.launch.attended:
            paused = self._runner.paused
            if paused is not None and paused.task.waiting_ask is not None and paused.task.open_calls:
                return CALL_WAITS
            return SessionChange(lambda: _condense_now(task, command))

        async def later() -> Accepted:
            task.context.request_condensing(command.text or "")
            return Accepted(is_deferred=True)

        return SessionChange(later)

    async def _restoring(self, task: Task, command: RestoreContext) -> Decision[Accepted]:
        """Undo a reduction from the log. The task may start a request while the log is read, so check after."""
        try:
            chosen = chosen_reduction(command.id, task.runtime.history.undoable)
            logged = await asyncio.to_thread(context_without, self._journal.path, task.runtime.task_id, chosen)
            if self._is_answering(task):
                return ANSWERING
            restore = task.context.restoration(chosen, logged)
        except (CannotRestore, LogError) as refusal:
            return Refused(code="cannot_restore", message=str(refusal))
        return accepting(restore)

    def _pinning(self, task: Task, command: PinTurn) -> Decision[Accepted]:
        history = task.runtime.history
        shown = {piece.number for piece in history.pieces if piece.reduction is None}
        if command.is_pinned and command.turn not in shown:
            message = (
                f"Turn {command.turn} is not in the context, so it cannot be pinned. /context all lists the turn "
                "numbers."
            )
            return Refused(code="unknown_turn", message=message)
        return accepting(lambda: history.pin(command.turn, command.is_pinned))

    def _is_answering(self, task: Task) -> bool:
        """Whether a request runs or is about to start, so that the conversation must not change."""
        return task.runtime.rows.info.is_streaming or self._asks.has_unread_answer


async def _condense_now(task: Task, command: CondenseContext) -> Accepted:
    """Print mode ends after the command, so there is no next request to condense before."""
    if not await task.context.condense_now(command.text or ""):
        raise ChangeFailed(NOT_CONDENSED)
    return CONDENSED


def _returning(value: T) -> SessionChange[T]:
    """The value; nothing is changed."""

    async def make() -> T:
        return value

    return SessionChange(make)
