"""The subtasks of a task: several can run side by side, and none outlives the work of its parent."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol

from robota.contracts.hook import HookEvent
from robota.contracts.tool import Delegate, ToolResult
from robota.engine.record.journal import EventBus, Journal
from robota.engine.runtime.options import Options
from robota.engine.runtime.user_input import UserInput
from robota.engine.task.steps import Ended, Outcome
from robota.log.kinds.session import EndRecord
from robota.protocol.commands import Command, Receipt
from robota.protocol.events import TaskAborted, TaskEnded, TaskPaused, TaskSpawned, TaskStarted, TaskUnpaused
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.problems import shortage_behind

if TYPE_CHECKING:
    from robota.contracts.agent import AgentIdentity, StartAgent
    from robota.engine.runtime.agent_service import AgentAddress, AgentLog
    from robota.engine.runtime.task_runtime import TaskRuntime
    from robota.engine.task.agents.process_task import ProcessTask
    from robota.engine.task.agents.table import AgentTable
    from robota.engine.task.task import Task
    from robota.log.kinds.agents import AgentEntry

STOPPED: Final = Ended(Outcome.INTERRUPTED, "It was stopped.")
AFTER_A_SUBTASK_FAILED: Final = (
    "Some of its work may be done. Look at the files before you do it yourself or start another subtask."
)
# The user gave it up, which clients see as an abort.
ABORTED: Final = frozenset({Outcome.GIVEN_UP, Outcome.FAILED})


class AnyTask(Protocol):
    """A task of this process, or one that works in another."""

    @property
    def runtime(self) -> "TaskRuntime": ...

    @property
    def subtasks(self) -> "Subtasks | None": ...

    def set_permission_mode(self, mode: PermissionMode) -> None: ...

    def begin(self, first: UserInput) -> None: ...

    def begin_turn(self, user_input: UserInput) -> None: ...

    async def begun(self, kind: str) -> None: ...

    async def work(self) -> Ended: ...


class TaskMaker(Protocol):
    """Creates the tasks that other tasks start."""

    def subtask(self, options: Options, parent: "Task", order: Delegate, has_own_queue: bool) -> "Task": ...

    def agent(
        self, options: Options, parent: "Task", identity: "AgentIdentity", order: "StartAgent", log: "AgentLog"
    ) -> "Task": ...

    def agent_in_process(
        self,
        options: Options,
        parent: "Task",
        identity: "AgentIdentity",
        order: "StartAgent",
        address: "AgentAddress",
        earlier: "AgentEntry | None",
    ) -> "ProcessTask": ...


class TaskTree:
    """What all tasks of a session need to start subtasks and to end."""

    def __init__(
        self,
        bus: EventBus,
        journal: Journal,
        tasks: "Callable[[], TaskMaker]",
        options: Callable[[], Options],
        on_change: Callable[[], None],
        submit: Callable[[Command], Awaitable[Receipt]],
    ) -> None:
        """`tasks` creates tasks, with the present `options` of the session. `on_change` is called when clients show
        another task. `submit` is for what the user decides about the whole session.
        """
        self.bus = bus
        self.journal = journal
        self._tasks = tasks
        self._options = options
        self.agents: AgentTable | None = None  # created with the first agent
        self.on_agents: Callable[[], None] = lambda: None  # called when clients have to be informed of a change
        self.on_change = on_change
        self.submit = submit
        self.root_id: Callable[[], str | None] = lambda: None  # the id of the task of the user
        self.is_leaving = False  # the session closes; what is open stays open in its log, to be resumed

    def new_subtask(self, parent: "Task", order: Delegate, has_own_queue: bool) -> "Task":
        """A subtask, with a message queue of its own or that of its parent."""
        return self._tasks().subtask(self._options(), parent, order, has_own_queue)

    def new_agent(self, parent: "Task", identity: "AgentIdentity", order: "StartAgent", log: "AgentLog") -> "Task":
        """An agent, with a log of its own."""
        return self._tasks().agent(self._options(), parent, identity, order, log)

    def new_agent_in_process(
        self,
        parent: "Task",
        identity: "AgentIdentity",
        order: "StartAgent",
        address: "AgentAddress",
        earlier: "AgentEntry | None" = None,
    ) -> "ProcessTask":
        """An agent in a process of its own; `earlier` if it has worked for an earlier process of the session."""
        return self._tasks().agent_in_process(self._options(), parent, identity, order, address, earlier)

    def begin(self, task: AnyTask, first: UserInput) -> None:
        """Show the task and its first input. The caller lets it work."""
        self.bus.emit(TaskStarted(task_id=task.runtime.task_id))
        task.begin(first)

    def close_open_work(self, task: AnyTask) -> None:
        """After an interruption: finish streaming rows and close calls without a result."""
        task.runtime.rows.interrupt()
        if not self.is_leaving:
            task.runtime.history.close_calls()

    def record_end(self, runtime: "TaskRuntime", outcome: Outcome) -> None:
        """Record the end of a task in its log, and inform every client."""
        task_id = runtime.task_id
        runtime.journal.write(EndRecord(task_id=task_id, outcome=outcome))
        if outcome in ABORTED:
            self.bus.emit(TaskAborted(task_id=task_id))
        self.bus.emit(TaskEnded(task_id=task_id, outcome=outcome))


class Subtask:
    """A running subtask. Whoever waits for it gets its end; to stop waiting does not stop it."""

    def __init__(self, task: AnyTask) -> None:
        self.task = task
        self.ended: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
        self.work: asyncio.Task[Ended] | None = None

    async def end(self) -> Ended:
        """How it ended, once it has."""
        return await asyncio.shield(self.ended)

    def stop(self) -> None:
        """Stop a subtask together with its own subtasks. Its parent and the others continue."""
        if self.work is not None:
            self.work.cancel()


class Subtasks:
    """The subtasks of a task, which works within `async with`. A bug in one ends neither the task nor the others."""

    def __init__(self, parent: "Task", tree: TaskTree) -> None:
        self._parent = parent
        self._tree = tree
        self._group: asyncio.TaskGroup | None = None
        self.opened = asyncio.Event()
        self._running: dict[str, Subtask] = {}
        self._awaited: list[Task] = []

    @property
    def are_open(self) -> bool:
        """Whether the parent works, or waits for the next prompt, so that subtasks can be started."""
        return self.opened.is_set()

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
        is_awaited = len(self._awaited) == len(self.running)
        return not is_awaited or any(below.runs_beside for below in self._below)

    def open_tasks(self) -> Iterator[AnyTask]:
        """The parent and all tasks below it."""
        yield self._parent
        for subtask in self.running:
            if subtask.task.subtasks is None:
                yield subtask.task
            else:
                yield from subtask.task.subtasks.open_tasks()

    def find(self, task_id: str) -> Subtask | None:
        """The running subtask of that id, at any depth."""
        below = (each.find(task_id) for each in self._below)
        return self._running.get(task_id) or next((subtask for subtask in below if subtask is not None), None)

    @property
    def _below(self) -> "Iterator[Subtasks]":
        """The subtasks of each that runs in this process."""
        return (each.task.subtasks for each in self.running if each.task.subtasks is not None)

    async def __aenter__(self) -> None:
        """The parent begins to work."""
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        self.opened.set()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Its work has ended, was cancelled or failed: stop the subtasks that still run, and wait for them."""
        group, self._group = self._group, None
        self.opened.clear()
        assert group is not None
        if isinstance(error, asyncio.CancelledError):
            await group.__aexit__(kind, error, trace)
            return
        for subtask in self.running:
            subtask.stop()
        await group.__aexit__(None, None, None)  # the group would wrap another error in an exception of its own

    def start(self, order: Delegate) -> Subtask:
        """Start a subtask that runs concurrently with the others, with a message queue of its own."""
        return self._started(self._created(order, has_own_queue=True), order)

    async def delegate(self, order: Delegate) -> ToolResult:
        """Run a subtask while the parent waits and clients are shown the subtask; the result for the parent's model."""
        task = self._created(order, has_own_queue=False)
        parent_id = self._parent.runtime.task_id
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
            text = f"The subtask ended before it was complete. {ended.text}".rstrip()
            return ToolResult(content=f"{text}\n{AFTER_A_SUBTASK_FAILED}", is_error=True)
        self._parent.runtime.rows.say("subtask_result", ended.text)
        return ToolResult(content=f"The subtask is complete. Its result:\n\n{ended.text}")

    def run_agent(
        self, task: AnyTask, prompt: str, turn: AbstractAsyncContextManager[None], *, is_new: bool
    ) -> Subtask:
        """Let an agent work on a prompt within its `turn`, concurrently with the others.

        Without `is_new`, it has worked before.
        """
        first = UserInput(text=prompt, is_prompt=False)
        if is_new:
            self._tree.bus.emit(
                TaskSpawned(
                    task_id=self._parent.runtime.task_id,
                    child_task_id=task.runtime.task_id,
                    agent_id=None if task.runtime.agent is None else task.runtime.agent.id,
                )
            )
            self._tree.begin(task, first)
        else:
            task.begin_turn(first)
        return self._run(task, task.runtime.agent_type or "", turn)

    def _created(self, order: Delegate, *, has_own_queue: bool) -> "Task":
        task = self._tree.new_subtask(self._parent, order, has_own_queue)
        task.todos = order.todos
        spawned = TaskSpawned(task_id=self._parent.runtime.task_id, child_task_id=task.runtime.task_id)
        self._tree.bus.emit(spawned)
        return task

    def _started(self, task: "Task", order: Delegate) -> Subtask:
        self._tree.begin(task, UserInput(text=order.message, is_prompt=False))
        return self._run(task, order.mode, nullcontext())

    def _run(self, task: AnyTask, kind: str, turn: AbstractAsyncContextManager[None]) -> Subtask:
        assert self._group is not None
        subtask = self._running[task.runtime.task_id] = Subtask(task)
        subtask.work = self._group.create_task(_worked(task, kind, turn))
        subtask.work.add_done_callback(partial(self._over, subtask))
        return subtask

    def _over(self, subtask: Subtask, work: asyncio.Task[Ended]) -> None:
        """Record how a subtask ended. A callback, because one that is stopped before its first step runs no code."""
        runtime, ended = subtask.task.runtime, STOPPED if work.cancelled() else work.result()
        del self._running[runtime.task_id]
        try:
            if ended is STOPPED:
                self._tree.close_open_work(subtask.task)
            # An agent that has completed goes on with what it was sent meanwhile; the others cannot.
            goes_on = runtime.agent is not None and ended.outcome is Outcome.COMPLETED
            if runtime.queue_id is not None and not goes_on:
                runtime.queue.hand_over(runtime.queue_id, self._parent.runtime.queue_id)
            if not (self._tree.is_leaving and ended is STOPPED):
                self._tree.record_end(runtime, ended.outcome)
        finally:
            subtask.ended.set_result(ended)


async def _worked(task: AnyTask, kind: str, turn: AbstractAsyncContextManager[None]) -> Ended:
    """The end of a subtask, whatever happens in it. `kind` is its mode or type of agent, for hooks."""
    try:
        async with turn:
            await task.begun(kind)
            return await task.work()
    except Exception as error:  # noqa: BLE001 - a bug in a subtask must end neither its parent nor the others
        reason = bug_in_words(error)
        task.runtime.rows.interrupt()
        task.runtime.rows.say("error", f"{reason} The subtask has ended.")
        return Ended(Outcome.FAILED, reason)


async def begin_agent(task: "Task", kind: str) -> None:
    """Fire the start hooks of an agent or a subtask. The first turn of an agent begins with its skills."""
    agent = task.runtime.agent
    if agent is not None and agent.definition.skills and not task.runtime.history.turns:
        from robota.engine.task.agents.own_skills import load_own_skills

        await load_own_skills(task)
    await fire_start(task, HookEvent.SUBAGENT_START, kind)


async def fire_start(task: "Task", event: HookEvent, target: str, **fields: str) -> None:
    """Fire a start event. Its hooks may add context for the model, or stop the task."""
    hook_result = await task.runtime.fire(event, target, **fields)
    task.remind(hook_result.context)
    if hook_result.stopped is not None:
        task.halt(hook_result.stopped)


def bug_in_words(error: BaseException) -> str:
    """The message for the user about an unhandled exception."""
    return shortage_behind(error) or f"Robota failed: {type(error).__name__}: {error}. This is a bug in Robota."
