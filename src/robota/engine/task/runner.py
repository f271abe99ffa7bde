"""Runs a task and its subtasks, through interruptions, to the end."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from robota.contracts.hook import HookEvent
from robota.contracts.tool import Delegate
from robota.engine.record.journal import EventBus, Journal
from robota.engine.runtime.person_input import Words, words_in
from robota.log.kinds.session import EndRecord
from robota.protocol.asks.answer import Approve
from robota.protocol.asks.ask import ResumeAsk
from robota.protocol.events import Notice, TaskAborted, TaskEnded, TaskPaused, TaskSpawned, TaskStarted, TaskUnpaused

if TYPE_CHECKING:
    from robota.engine.runtime.task_runtime import TaskRuntime
    from robota.engine.task.resumption import PausedTask
    from robota.engine.task.steps import Ended
    from robota.engine.task.task import Task

RESUMPTION = "[TASK RESUMPTION] The task was interrupted. Look at where it stands and go on."

BUG = "This is a bug in Robota. The task has ended; what was done stays done."


class TaskRunner:
    """Holds the tasks that are open: the one a person started, and on top of it the subtasks it waits for."""

    def __init__(
        self,
        bus: EventBus,
        journal: Journal,
        new_subtask: "Callable[[Task, Delegate], Task]",
        reopened: "Callable[[PausedTask], Awaitable[Task | None]]",
        changed: Callable[[], None],
    ) -> None:
        """`reopened` makes a task of a paused one, or nothing if the person did not want to wait for its tools.

        `changed` is called whenever another task has come to the top.
        """
        self._bus = bus
        self._journal = journal
        self._new_subtask = new_subtask
        self._reopened = reopened
        self._changed = changed
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
        """Whether there is a task that has not ended, be it that it waits for a person."""
        return self._driver is not None and not self._driver.done()

    async def has_ended(self, *, wait: bool = False) -> bool:
        """Whether no task runs. One that has finished its work, or is known to be about to, is waited for."""
        if self._driver is None:
            return True
        if wait or (self._work is not None and self._work.done() and not self._work.cancelled()):
            await asyncio.wait([self._driver])
        return self._driver.done()

    async def resume(self, paused: "PausedTask") -> None:
        """Show a task that another process left, and ask whether it goes on. Returns when that is being asked."""
        self.stack.clear()
        self.paused = paused
        self._changed()
        self._driver = asyncio.create_task(self._drive_paused(paused))
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # the driver has started what asks, and that has asked

    def forget(self) -> None:
        """Have no task any more. Nothing may run."""
        self.stack.clear()
        self.paused = None

    def start(self, task: "Task", text: str, images: tuple[str, ...], *, is_command: bool = False) -> None:
        self.forget()
        self._open(task, text, images, is_command=is_command)
        self._driver = asyncio.create_task(self._drive(task))

    def take_up(self, task: "Task", offer: ResumeAsk) -> None:
        """Offer to go on with a task as it is."""
        self.forget()
        self.stack.append(task)
        self._changed()
        self._driver = asyncio.create_task(self._drive(task, offer))

    def interrupt(self) -> bool:
        """Stop what runs now; the task can be resumed. False if nothing runs."""
        if self._work is None or self._work.done():
            return False
        self._work.cancel()
        return True

    async def stop(self, *, is_leaving: bool = False) -> None:
        """End the task here and now, and wait until everything it did is in order.

        When the session itself is left, calls that were not made stay open, so that a later process can make them.
        """
        self._is_leaving = is_leaving
        driver, self._driver = self._driver, None
        if driver is not None and not driver.done():
            driver.cancel()
            await asyncio.wait([driver])

    async def delegate(self, order: Delegate) -> str:
        """Run a subtask while its parent waits; returns what the parent's model is told."""
        parent = self.stack[-1]
        parent_id = parent.runtime.task_id
        child = self._new_subtask(parent, order)
        child.todos = order.todos
        child_id = child.runtime.task_id
        self._bus.emit(TaskSpawned(task_id=parent_id, child_task_id=child_id))
        self._bus.emit(TaskPaused(task_id=parent_id))
        self._open(child, order.message)
        await self._tell_start(child, HookEvent.SUBAGENT_START, order.mode)
        ended = await child.work()
        self.stack.remove(child)
        self._tell_end(child_id, _outcome(ended))
        self._bus.emit(TaskUnpaused(task_id=parent_id))
        self._changed()
        if ended.result is None:
            return f"Subtask {child_id} was given up before it was complete."
        parent.runtime.rows.say("subtask_result", ended.result)
        return f"Subtask {child_id} completed.\n\nResult:\n{ended.result}"

    def _open(self, task: "Task", text: str, images: tuple[str, ...] = (), *, is_command: bool = False) -> None:
        self.stack.append(task)
        self._changed()
        self._bus.emit(TaskStarted(task_id=task.runtime.task_id))
        words = Words(text=text, images=images, is_prompt=not task.is_subtask, is_command=is_command)
        task.runtime.rows.say("text", words.as_typed, images=images or None)
        task.hear(words)

    async def _drive_paused(self, paused: "PausedTask") -> None:
        """Wait until the person decides; then drive the task on."""
        task: Task | None = None
        while task is None:
            decision = await paused.decision()
            if not paused.goes_on_after(decision):
                paused.decline(decision)
                self._tell_end(paused.task.task_id, "completed" if paused.task.is_complete else "abandoned")
                return
            task = await self._reopened(paused)
        self.paused = None
        self.stack.append(task)
        paused.go_on(task, decision)
        self._bus.emit(TaskStarted(task_id=task.runtime.task_id))
        await self._drive(task, source="resume")

    async def _drive(self, task: "Task", offer: ResumeAsk | None = None, source: str = "startup") -> None:
        """Let the task work; after an interruption offer to resume it, as often as needed. `offer` comes first."""
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
            self._close_books(task)
            self._tell_end(task.runtime.task_id, outcome)

    def _tell_end(self, task_id: str, outcome: str) -> None:
        self._journal.write(EndRecord(task_id=task_id, outcome=outcome))
        if outcome == "given_up":
            self._bus.emit(TaskAborted(task_id=task_id))
        self._bus.emit(TaskEnded(task_id=task_id, outcome=outcome))

    async def _begin_session(self, task: "Task", source: str) -> None:
        """Every task begins with an empty conversation, so for hooks the second one is a session that was cleared."""
        runtime = task.runtime
        if self._has_begun:
            source = "clear"
            await self.tell_cleared(runtime)
        elif runtime.services.model.info.notice:
            self._bus.emit(Notice(level="info", text=runtime.services.model.info.notice))
        self._has_begun, self._is_cleared = True, False
        about = {"source": source, "model": runtime.options.model}
        if runtime.options.name is not None:
            about["session_title"] = runtime.options.name
        await self._tell_start(task, HookEvent.SESSION_START, source, **about)

    async def tell_cleared(self, runtime: "TaskRuntime") -> None:
        """Let hooks know, once, that the conversation is over, with a new one to come."""
        if self._has_begun and not self._is_cleared:
            self._is_cleared = True
            await runtime.fire(HookEvent.SESSION_END, "clear", reason="clear")

    async def _tell_start(self, task: "Task", event: HookEvent, target: str, **fields: str) -> None:
        """Hooks may say something to the model before the task starts, or want it not to."""
        said = await task.runtime.fire(event, target, **fields)
        task.remind(said.context)
        if said.stopped is not None:
            task.halt(said.stopped)

    async def _until_end(self, task: "Task", offer: ResumeAsk | None) -> str:
        if offer is not None and not await self._is_resumed(task, offer):
            return "completed" if offer.is_completed else "abandoned"
        while True:
            self._work = asyncio.create_task(task.work())
            await asyncio.wait([self._work])
            if not self._work.cancelled():
                return self._outcome_of(task, self._work)
            self._close_books(task)
            self._bus.emit(TaskAborted(task_id=task.runtime.task_id))
            if not await self._is_resumed(task, ResumeAsk()):
                return "abandoned"

    async def _is_resumed(self, task: "Task", offer: ResumeAsk) -> bool:
        answer = await task.runtime.ask(offer)
        if not isinstance(answer, Approve) and not answer.has_words:
            return False
        if answer.has_words:
            task.runtime.end_turn_rules()
            task.go_on_with(words_in(answer))
        else:
            task.hear(Words(text=RESUMPTION, is_prompt=False))
        return True

    def _outcome_of(self, task: "Task", work: "asyncio.Task[Ended]") -> str:
        from robota.engine.model.request import RequestGivenUp

        error = work.exception()
        if error is None:
            return _outcome(work.result())
        if not isinstance(error, RequestGivenUp):
            task.runtime.rows.say("error", f"Robota failed: {type(error).__name__}: {error}. {BUG}")
        self._bus.emit(TaskAborted(task_id=task.runtime.task_id))
        return "failed"

    def _close_books(self, task: "Task") -> None:
        """No call without a result, no row that streams for ever, no subtask that nobody waits for."""
        for open_task in self.stack:
            open_task.runtime.rows.interrupt()
            if not self._is_leaving:
                open_task.runtime.history.close_calls()
        if self.current is not task and task in self.stack:
            del self.stack[self.stack.index(task) + 1 :]
            self._changed()


def _outcome(ended: "Ended") -> str:
    return "given_up" if ended.result is None else "completed"
