"""Drives a task and its subtasks to their end, through interruptions and resumptions."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from robota.contracts.hook import HookEvent
from robota.contracts.tool import Delegate
from robota.engine.record.journal import EventBus, Journal
from robota.engine.runtime.user_input import UserInput, input_from
from robota.log.kinds.session import EndRecord
from robota.protocol.asks.answer import Approve
from robota.protocol.asks.ask import ResumeAsk
from robota.protocol.events import Notice, TaskAborted, TaskEnded, TaskPaused, TaskSpawned, TaskStarted, TaskUnpaused

if TYPE_CHECKING:
    from robota.engine.runtime.task_runtime import TaskRuntime
    from robota.engine.task.resumption import PausedTask
    from robota.engine.task.steps import Ended
    from robota.engine.task.task import Task

RESUMPTION = "[TASK RESUMPTION] The task was interrupted. Check its current state and continue."

BUG = "This is a bug in Robota. The turn has ended; the conversation and completed work are kept."


class TaskRunner:
    """Holds the stack of open tasks: the one the user started, and on top of it the subtasks it waits for."""

    def __init__(
        self,
        bus: EventBus,
        journal: Journal,
        new_subtask: "Callable[[Task, Delegate], Task]",
        reopen: "Callable[[PausedTask], Awaitable[Task | None]]",
        on_change: Callable[[], None],
    ) -> None:
        """`reopen` restores a paused task, or returns None if the user cancelled the wait for its tools.

        `on_change` is called whenever another task is on top of the stack.
        """
        self._bus = bus
        self._journal = journal
        self._new_subtask = new_subtask
        self._reopen = reopen
        self._on_change = on_change
        self.stack: list[Task] = []
        self.paused: PausedTask | None = None
        self._has_begun = False
        self._is_cleared = False
        self._is_leaving = False
        self._driver: asyncio.Task[None] | None = None
        self._work: asyncio.Task[Ended] | None = None

    @property
    def current(self) -> "Task | None":
        return self.stack[-1] if self.stack else None

    @property
    def is_running(self) -> bool:
        """Whether there is a task that has not ended, including one that waits for the user."""
        return self._driver is not None and not self._driver.done()

    async def has_ended(self, *, wait: bool = False) -> bool:
        """Whether no task runs. Waits for a task that has finished its work, or with `wait` for any."""
        if self._driver is None:
            return True
        if wait or (self._work is not None and self._work.done() and not self._work.cancelled()):
            await asyncio.wait([self._driver])
        return self._driver.done()

    async def resume(self, paused: "PausedTask") -> None:
        """Show a task from an earlier process and ask whether to continue it. Returns once that is asked."""
        self.stack.clear()
        self.paused = paused
        self._on_change()
        self._driver = asyncio.create_task(self._drive_paused(paused))
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # the driver has started the asking task, and that has asked

    def forget(self) -> None:
        """Drop the open tasks. Nothing may be running."""
        self.stack.clear()
        self.paused = None

    def start(self, task: "Task", text: str, images: tuple[str, ...], *, is_command: bool = False) -> None:
        self.forget()
        self._open(task, text, images, is_command=is_command)
        self._driver = asyncio.create_task(self._drive(task))

    def offer_resumption(self, task: "Task", offer: ResumeAsk) -> None:
        """Ask whether to continue a task that was reloaded from the log."""
        self.forget()
        self.stack.append(task)
        self._on_change()
        self._driver = asyncio.create_task(self._drive(task, offer))

    def interrupt(self) -> bool:
        """Cancel the running step; the task can be resumed. False if nothing runs."""
        if self._work is None or self._work.done():
            return False
        self._work.cancel()
        return True

    async def stop(self, *, is_leaving: bool = False) -> None:
        """Stop the task and wait until its records are complete.

        With `is_leaving` the session is closing: calls that were not made stay open, so that they can be made when
        the session is resumed.
        """
        self._is_leaving = is_leaving
        driver, self._driver = self._driver, None
        if driver is not None and not driver.done():
            driver.cancel()
            await asyncio.wait([driver])

    async def delegate(self, order: Delegate) -> str:
        """Run a subtask while its parent waits; returns the result text for the parent's model."""
        parent = self.stack[-1]
        parent_id = parent.runtime.task_id
        child = self._new_subtask(parent, order)
        child.todos = order.todos
        child_id = child.runtime.task_id
        self._bus.emit(TaskSpawned(task_id=parent_id, child_task_id=child_id))
        self._bus.emit(TaskPaused(task_id=parent_id))
        self._open(child, order.message)
        await self._fire_start(child, HookEvent.SUBAGENT_START, order.mode)
        ended = await child.work()
        self.stack.remove(child)
        self._record_end(child_id, _outcome(ended))
        self._bus.emit(TaskUnpaused(task_id=parent_id))
        self._on_change()
        if ended.result is None:
            return f"Subtask {child_id} was abandoned before it was complete."
        parent.runtime.rows.say("subtask_result", ended.result)
        return f"Subtask {child_id} completed.\n\nResult:\n{ended.result}"

    def _open(self, task: "Task", text: str, images: tuple[str, ...] = (), *, is_command: bool = False) -> None:
        self.stack.append(task)
        self._on_change()
        self._bus.emit(TaskStarted(task_id=task.runtime.task_id))
        first = UserInput(text=text, images=images, is_prompt=not task.is_subtask, is_command=is_command)
        task.runtime.rows.say("text", first.as_typed, images=images or None)
        task.add_input(first)

    async def _drive_paused(self, paused: "PausedTask") -> None:
        """Wait for the decision about a paused task; then drive it on."""
        task: Task | None = None
        while task is None:
            decision = await paused.decision()
            if not paused.goes_on_after(decision):
                paused.decline(decision)
                self._record_end(paused.task.task_id, "completed" if paused.task.is_complete else "abandoned")
                return
            task = await self._reopen(paused)
        self.paused = None
        self.stack.append(task)
        paused.go_on(task, decision)
        self._bus.emit(TaskStarted(task_id=task.runtime.task_id))
        await self._drive(task, source="resume")

    async def _drive(self, task: "Task", offer: ResumeAsk | None = None, source: str = "startup") -> None:
        """Run the task to its end, offering to resume it after each interruption; with `offer`, also before."""
        outcome = None
        try:
            if offer is None:
                await self._begin_session(task, source)
            outcome = await self._until_end(task, offer)
        finally:
            outcome = outcome or ("completed" if task.is_complete else "interrupted")
            if self._work is not None and not self._work.done():
                self._work.cancel()
                await asyncio.wait([self._work])
            self._close_open_work(task)
            self._record_end(task.runtime.task_id, outcome)

    def _record_end(self, task_id: str, outcome: str) -> None:
        self._journal.write(EndRecord(task_id=task_id, outcome=outcome))
        if outcome == "given_up":
            self._bus.emit(TaskAborted(task_id=task_id))
        self._bus.emit(TaskEnded(task_id=task_id, outcome=outcome))

    async def _begin_session(self, task: "Task", source: str) -> None:
        """Fire SessionStart. A later task starts with an empty conversation, so hooks see it as a cleared session."""
        runtime = task.runtime
        if self._has_begun:
            source = "clear"
            await self.fire_cleared(runtime)
        elif runtime.services.model.info.notice:
            self._bus.emit(Notice(level="info", text=runtime.services.model.info.notice))
        self._has_begun, self._is_cleared = True, False
        about = {"source": source, "model": runtime.options.model}
        if runtime.options.name is not None:
            about["session_title"] = runtime.options.name
        await self._fire_start(task, HookEvent.SESSION_START, source, **about)

    async def fire_cleared(self, runtime: "TaskRuntime") -> None:
        """Fire SessionEnd with the reason "clear", once per cleared conversation."""
        if self._has_begun and not self._is_cleared:
            self._is_cleared = True
            await runtime.fire(HookEvent.SESSION_END, "clear", reason="clear")

    async def _fire_start(self, task: "Task", event: HookEvent, target: str, **fields: str) -> None:
        """Fire a start event. Its hooks may add context for the model, or stop the task."""
        hook_result = await task.runtime.fire(event, target, **fields)
        task.remind(hook_result.context)
        if hook_result.stopped is not None:
            task.halt(hook_result.stopped)

    async def _until_end(self, task: "Task", offer: ResumeAsk | None) -> str:
        if offer is not None and not await self._is_resumed(task, offer):
            return "completed" if offer.is_completed else "abandoned"
        while True:
            self._work = asyncio.create_task(task.work())
            await asyncio.wait([self._work])
            outcome = None if self._work.cancelled() else self._outcome_of(task, self._work)
            if outcome is not None:
                return outcome
            self._close_open_work(task)
            task.requester.close_unanswered()
            self._bus.emit(TaskAborted(task_id=task.runtime.task_id))
            if not await self._is_resumed(task, ResumeAsk()):
                return "abandoned"

    async def _is_resumed(self, task: "Task", offer: ResumeAsk) -> bool:
        answer = await task.runtime.ask(offer)
        if not isinstance(answer, Approve) and not answer.has_words:
            return False
        if answer.has_words:
            task.runtime.end_turn_rules()
            task.begin_turn(input_from(answer))
        else:
            task.add_input(UserInput(text=RESUMPTION, is_prompt=False))
        return True

    def _outcome_of(self, task: "Task", work: "asyncio.Task[Ended]") -> str | None:
        """How the task ended; None if only its turn did, because the user gave it up or Robota failed.

        Then the conversation is kept, and the next prompt goes on from there.
        """
        from robota.engine.model.request import RequestGivenUp

        error = work.exception()
        if error is None:
            return None if work.result().result is None else "completed"
        if isinstance(error, RequestGivenUp):
            return None
        task.runtime.rows.say("error", f"Robota failed: {type(error).__name__}: {error}. {BUG}")
        if task.runtime.options.attended:
            return None
        self._bus.emit(TaskAborted(task_id=task.runtime.task_id))
        return "failed"

    def _close_open_work(self, task: "Task") -> None:
        """After an interruption: finish streaming rows, close calls without a result, drop orphaned subtasks."""
        for open_task in self.stack:
            open_task.runtime.rows.interrupt()
            if not self._is_leaving:
                open_task.runtime.history.close_calls()
        if self.current is not task and task in self.stack:
            del self.stack[self.stack.index(task) + 1 :]
            self._on_change()


def _outcome(ended: "Ended") -> str:
    return "given_up" if ended.result is None else "completed"
