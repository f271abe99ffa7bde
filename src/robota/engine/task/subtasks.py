"""The subtasks of a task: several can run side by side, and none outlives the work of its parent."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Final

from robota.contracts.hook import HookEvent
from robota.contracts.tool import Delegate, ToolResult
from robota.engine.record.journal import EventBus, Journal
from robota.engine.runtime.user_input import UserInput
from robota.engine.task.steps import Ended, Outcome
from robota.log.kinds.session import EndRecord
from robota.protocol.events import TaskAborted, TaskEnded, TaskPaused, TaskSpawned, TaskStarted, TaskUnpaused
from robota.workspace.problems import shortage_behind

if TYPE_CHECKING:
    from robota.engine.task.task import Task

STOPPED: Final = Ended(Outcome.INTERRUPTED, "It was stopped.")
# The user gave it up, which clients see as an abort.
ABORTED: Final = frozenset({Outcome.GIVEN_UP, Outcome.FAILED})


class TaskTree:
    """What all tasks of a session need to start subtasks and to end."""

    def __init__(
        self,
        bus: EventBus,
        journal: Journal,
        new_subtask: "Callable[[Task, Delegate, bool], Task]",
        on_change: Callable[[], None],
    ) -> None:
        """`new_subtask` creates one, with a message queue of its own or that of its parent; `on_change` is called when
        clients are shown another task.
        """
        self.bus = bus
        self.journal = journal
        self.new_subtask = new_subtask
        self.on_change = on_change
        self.is_leaving = False  # the session closes; what is open stays open in its log, to be resumed

    def begin(self, task: "Task", first: UserInput) -> None:
        """Show the task and its first input. The caller lets it work."""
        self.bus.emit(TaskStarted(task_id=task.runtime.task_id))
        task.runtime.rows.say("text", first.as_typed, images=first.images or None)
        task.add_input(first)

    def close_open_work(self, task: "Task") -> None:
        """After an interruption: finish streaming rows and close calls without a result."""
        task.runtime.rows.interrupt()
        if not self.is_leaving:
            task.runtime.history.close_calls()

    def record_end(self, task_id: str, outcome: Outcome) -> None:
        """Record the end of a task, and tell every client."""
        self.journal.write(EndRecord(task_id=task_id, outcome=outcome))
        if outcome in ABORTED:
            self.bus.emit(TaskAborted(task_id=task_id))
        self.bus.emit(TaskEnded(task_id=task_id, outcome=outcome))


class Subtask:
    """A running subtask. Whoever waits for it gets its end; to stop waiting does not stop it."""

    def __init__(self, task: "Task") -> None:
        self.task = task
        self.ended: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
        self.work: asyncio.Task[Ended] | None = None

    async def end(self) -> Ended:
        """How it ended, once it has."""
        return await asyncio.shield(self.ended)

    def stop(self) -> None:
        """Stop it together with its own subtasks. Its parent and the others go on."""
        if self.work is not None:
            self.work.cancel()


class Subtasks:
    """The subtasks of a task, which works within `async with`. A bug in one ends neither the task nor the others."""

    def __init__(self, parent: "Task", tree: TaskTree) -> None:
        self._parent = parent
        self._tree = tree
        self._group: asyncio.TaskGroup | None = None
        self._running: dict[str, Subtask] = {}
        self._awaited: list[Task] = []

    @property
    def running(self) -> tuple[Subtask, ...]:
        """Those that have not ended, in the order of their start."""
        return tuple(self._running.values())

    @property
    def shown(self) -> "Task":
        """The task that clients are shown: a subtask that the parent waits for, or the parent."""
        return self._awaited[-1].subtasks.shown if self._awaited else self._parent

    @property
    def runs_beside(self) -> bool:
        """Whether a subtask runs that no task waits for."""
        return any(each.task not in self._awaited or each.task.subtasks.runs_beside for each in self.running)

    def open_tasks(self) -> "Iterator[Task]":
        """The parent and all tasks below it."""
        yield self._parent
        for subtask in self.running:
            yield from subtask.task.subtasks.open_tasks()

    def find(self, task_id: str) -> Subtask | None:
        """The running subtask of that id, at any depth."""
        below = (subtask.task.subtasks.find(task_id) for subtask in self.running)
        return self._running.get(task_id) or next((subtask for subtask in below if subtask is not None), None)

    async def __aenter__(self) -> None:
        """The parent begins to work."""
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Its work has ended, was cancelled or failed: stop the subtasks that still run, and wait for them."""
        assert self._group is not None
        if isinstance(error, asyncio.CancelledError):
            await self._group.__aexit__(kind, error, trace)
            return
        for subtask in self.running:
            subtask.stop()
        await self._group.__aexit__(None, None, None)  # the group would wrap another error in an exception of its own

    def start(self, order: Delegate) -> Subtask:
        """Start a subtask beside the others, with a message queue of its own."""
        return self._started(self._created(order, has_own_queue=True), order)

    async def delegate(self, order: Delegate) -> ToolResult:
        """Run a subtask while the parent waits and clients are shown the subtask; the result for the parent's model."""
        task = self._created(order, has_own_queue=False)
        parent_id, child_id = self._parent.runtime.task_id, task.runtime.task_id
        self._tree.bus.emit(TaskPaused(task_id=parent_id))
        self._awaited.append(task)
        self._tree.on_change()
        subtask = self._started(task, order)
        try:
            ended = await subtask.end()
            self._tree.bus.emit(TaskUnpaused(task_id=parent_id))
        except asyncio.CancelledError:
            subtask.stop()
            await subtask.end()
            raise
        finally:
            self._awaited.remove(task)
            self._tree.on_change()
        if ended.outcome is not Outcome.COMPLETED:
            text = f"Subtask {child_id} was abandoned before it was complete. {ended.text}".rstrip()
            return ToolResult(content=text, is_error=True)
        self._parent.runtime.rows.say("subtask_result", ended.text)
        return ToolResult(content=f"Subtask {child_id} completed.\n\nResult:\n{ended.text}")

    def _created(self, order: Delegate, *, has_own_queue: bool) -> "Task":
        task = self._tree.new_subtask(self._parent, order, has_own_queue)
        task.todos = order.todos
        spawned = TaskSpawned(task_id=self._parent.runtime.task_id, child_task_id=task.runtime.task_id)
        self._tree.bus.emit(spawned)
        return task

    def _started(self, task: "Task", order: Delegate) -> Subtask:
        assert self._group is not None
        self._tree.begin(task, UserInput(text=order.message, is_prompt=False))
        subtask = self._running[task.runtime.task_id] = Subtask(task)
        subtask.work = self._group.create_task(_worked(task, order.mode))
        subtask.work.add_done_callback(partial(self._over, subtask))
        return subtask

    def _over(self, subtask: Subtask, work: asyncio.Task[Ended]) -> None:
        """Record how a subtask ended. A callback, because one that is stopped before its first step runs no code."""
        runtime, ended = subtask.task.runtime, STOPPED if work.cancelled() else work.result()
        del self._running[runtime.task_id]
        try:
            if ended is STOPPED:
                self._tree.close_open_work(subtask.task)
            if runtime.queue_id is not None:
                runtime.queue.hand_over(runtime.queue_id, self._parent.runtime.queue_id)
            if not (self._tree.is_leaving and ended is STOPPED):
                self._tree.record_end(runtime.task_id, ended.outcome)
        finally:
            subtask.ended.set_result(ended)


async def _worked(task: "Task", mode: str) -> Ended:
    """The end of a subtask, whatever happens in it."""
    try:
        await fire_start(task, HookEvent.SUBAGENT_START, mode)
        return await task.work()
    except Exception as error:  # noqa: BLE001 - a bug in a subtask must end neither its parent nor the others
        reason = bug_in_words(error)
        task.runtime.rows.interrupt()
        task.runtime.rows.say("error", f"{reason} The subtask has ended.")
        return Ended(Outcome.FAILED, reason)


async def fire_start(task: "Task", event: HookEvent, target: str, **fields: str) -> None:
    """Fire a start event. Its hooks may add context for the model, or stop the task."""
    hook_result = await task.runtime.fire(event, target, **fields)
    task.remind(hook_result.context)
    if hook_result.stopped is not None:
        task.halt(hook_result.stopped)


def bug_in_words(error: BaseException) -> str:
    """What the user is told about an exception that nothing handled."""
    return shortage_behind(error) or f"Robota failed: {type(error).__name__}: {error}. This is a bug in Robota."
