"""Drives a task and its subtasks to their end, through interruptions and resumptions."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from robota.contracts.hook import HookEvent
from robota.engine.runtime.user_input import PendingAsk, UserInput, ends_task, input_from
from robota.engine.task.steps import Ended, Outcome
from robota.engine.task.subtasks import AnyTask, Subtask, TaskTree, begin_agent, bug_in_words, fire_start
from robota.log.kinds.session import EndRecord
from robota.protocol.asks.answer import Answer
from robota.protocol.asks.ask import ResumeAsk
from robota.protocol.events import Notice, TaskAborted, TaskStarted

if TYPE_CHECKING:
    from robota.engine.runtime.task_runtime import TaskRuntime
    from robota.engine.task.resumption import PausedTask
    from robota.engine.task.task import Task

RESUMPTION: Final = "[TASK RESUMPTION] The task was interrupted. Check its current state and continue."
TURN_ENDED: Final = "The turn has ended; the conversation and completed work are kept."


class TaskRunner:
    """Runs the task that the user started, the root of a tree: below it are its subtasks, and theirs.

    The driver takes the task through interruptions to its end; the work is what it does between two of them.
    """

    def __init__(self, tree: TaskTree, reopen: "Callable[[PausedTask], Awaitable[Task | None]]") -> None:
        """`reopen` restores a paused task, or returns None if the user cancelled the wait for its tools."""
        self._tree = tree
        tree.root_id = lambda: None if self.root is None else self.root.runtime.task_id
        self._reopen = reopen
        self.root: Task | None = None
        self.paused: PausedTask | None = None
        self._has_begun = False
        self._is_cleared = False
        self._driver: asyncio.Task[None] | None = None
        self._work: asyncio.Task[Ended] | None = None
        self._is_interrupted = False  # before its work could begin

    @property
    def current(self) -> "Task | None":
        """The task that clients are shown: the root, or the subtask that it waits for."""
        return None if self.root is None else self.root.subtasks.shown

    @property
    def open_tasks(self) -> "Iterable[AnyTask]":
        """The root and everything below it."""
        return () if self.root is None else self.root.subtasks.open_tasks()

    @property
    def has_subtasks(self) -> bool:
        """Whether a subtask runs."""
        return self.root is not None and bool(self.root.subtasks.running)

    @property
    def runs_beside(self) -> bool:
        """Whether a subtask runs concurrently with the conversation."""
        return self.root is not None and self.root.subtasks.runs_beside

    def find_subtask(self, task_id: str) -> Subtask | None:
        """The running subtask of that id."""
        return None if self.root is None else self.root.subtasks.find(task_id)

    @property
    def is_over(self) -> bool:
        """Whether there is no task, or it has ended. One that waits for the user has not."""
        return self._driver is None or self._driver.done()

    def ends_with(self, pending: PendingAsk, answer: Answer) -> bool:
        """Whether the user's task ends with this answer. The parent of a subtask continues."""
        if self.paused is not None:
            return not self.paused.goes_on_after(pending.message, answer)
        is_of_root = self.root is not None and pending.task_id == self.root.runtime.task_id
        return is_of_root and ends_task(pending.message.asked, answer)

    async def end(self) -> None:
        """Wait until the task has ended and its records are complete."""
        if self._driver is not None:
            await asyncio.wait([self._driver])

    async def resume(self, paused: "PausedTask") -> None:
        """Show a task from an earlier process and ask whether to continue it. Returns once that is asked."""
        self.forget()
        self.paused = paused
        self._tree.on_change()
        self._drive(paused.runtime, lambda: self._until_paused_ends(paused))
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # the driver has started the asking task, and that has asked

    def forget(self) -> None:
        """Drop the open tasks. Nothing may be running."""
        self.root = self.paused = None

    async def start(self, task: "Task", first: UserInput) -> None:
        """Start a task with its prompt. Returns once it works."""
        self.forget()
        self.root = task
        self._tree.on_change()
        self._tree.begin(task, first)
        self._drive(task.runtime, lambda: self._until_end(task, source="startup"))
        await asyncio.sleep(0)

    def offer_resumption(self, task: "Task", offer: ResumeAsk, open_subtasks: Sequence[str]) -> None:
        """Ask, as soon as the caller waits for something, whether to continue a task that was reloaded from the log."""
        self.forget()
        self._end_subtasks(open_subtasks)
        self.root = task
        self._tree.on_change()
        self._drive(task.runtime, lambda: self._until_end(task, offer=offer))

    def interrupt(self) -> None:
        """Cancel the running step, or the one that is about to begin; the task can be resumed."""
        if self._work is not None and not self._work.done():
            self._work.cancel()
        else:
            self._is_interrupted = True

    def pause(self) -> None:
        """Stop the task before its next request to the model, when nothing is cut off; it then offers to resume."""
        if self.root is not None and not self.is_over:
            self.root.pause()

    async def stop(self, *, is_leaving: bool = False) -> None:
        """Stop the task and wait until its records are complete.

        With `is_leaving` the session is closing: calls that were not made stay open, so that they can be made when
        the session is resumed.
        """
        self._tree.is_leaving = is_leaving
        if self._driver is not None:
            self._driver.cancel()
            await self.end()

    def _drive(self, runtime: "TaskRuntime", until_end: Callable[[], Awaitable[Outcome]]) -> None:
        self._work, self._is_interrupted = None, False
        self._driver = asyncio.create_task(self._driven(runtime, until_end))

    async def _driven(self, runtime: "TaskRuntime", until_end: Callable[[], Awaitable[Outcome]]) -> None:
        """Take a task to its end. However it ends, its end is recorded."""
        try:
            outcome = await until_end()
        except asyncio.CancelledError:
            outcome = await self._stopped()
        except Exception as error:  # noqa: BLE001 - a bug must not leave a task that looks as if it were running
            runtime.rows.say("error", f"{bug_in_words(error)} Completed work is kept.")
            runtime.rows.change(runtime.rows.ask("resume_task", asked=ResumeAsk()), is_answered=True)
            outcome = Outcome.FAILED
        self._close_open_work()
        if self.paused is not None and self._tree.is_leaving:
            return  # it waits on
        if self.paused is not None:
            self._end_subtasks(self.paused.open_subtasks)
        self._tree.record_end(runtime, outcome)

    async def _stopped(self) -> Outcome:
        """Stop the work; the outcome of a task that is stopped now."""
        if self._work is not None and not self._work.done():
            self._work.cancel()
            await asyncio.wait([self._work])
        stopped = self.root or self.paused
        is_complete = stopped is not None and stopped.is_complete
        return Outcome.COMPLETED if is_complete else Outcome.INTERRUPTED

    async def _until_paused_ends(self, paused: "PausedTask") -> Outcome:
        """Wait for the decision about a paused task; then drive it on."""
        task: Task | None = None
        while task is None:
            decision = await paused.decision()
            if not paused.goes_on_after(decision.row, decision.answer):
                paused.decline(decision)
                return Outcome.COMPLETED if paused.task.is_complete else Outcome.ABANDONED
            task = await self._reopen(paused)
        self._end_subtasks(paused.open_subtasks)
        self.paused = None
        self.root = task
        paused.go_on(task, decision)
        self._tree.bus.emit(TaskStarted(task_id=task.runtime.task_id))
        return await self._until_end(task, source="resume")

    async def _until_end(self, task: "Task", *, source: str = "", offer: ResumeAsk | None = None) -> Outcome:
        """Run the task to its end, offering to resume it after each interruption; with `offer`, also before.

        `source` is what SessionStart hooks are told, if it begins now.
        """
        while True:
            self._is_interrupted = False
            if offer is not None and not await self._is_resumed(task, offer):
                return Outcome.COMPLETED if offer.is_completed else Outcome.ABANDONED
            ended = await self._work_on(task, source)
            if ended is not None and ended.outcome is Outcome.COMPLETED:
                return ended.outcome
            # Only the turn is over: the user gave it up or interrupted it, or Robota failed.
            source, offer = "", ResumeAsk()
            self._close_open_work()
            task.requester.close_unanswered()
            self._tree.bus.emit(TaskAborted(task_id=task.runtime.task_id))

    async def _work_on(self, task: "Task", source: str) -> Ended | None:
        """Let the task work until it ends; None if the user, or a bug, interrupted it."""
        self._work = asyncio.create_task(task.work(partial(self._begin_session, task, source) if source else None))
        if self._is_interrupted:
            self._work.cancel()
        await asyncio.wait([self._work])
        if self._work.cancelled():
            return None
        error = self._work.exception()
        if error is None:
            return self._work.result()
        task.runtime.rows.interrupt()
        task.runtime.rows.say("error", f"{bug_in_words(error)} {TURN_ENDED}")
        return None

    def _end_subtasks(self, open_subtasks: Sequence[str]) -> None:
        """Once it is decided what becomes of a reloaded task: subtasks whose end is not recorded ended earlier.

        It is only recorded: no client of this process saw them run, and one could take it for the end of its own task.
        """
        for task_id in open_subtasks:
            self._tree.journal.write(EndRecord(task_id=task_id, outcome=Outcome.INTERRUPTED))

    async def _begin_session(self, task: "Task", source: str) -> None:
        """Fire SessionStart. A later task starts with an empty conversation, so hooks see it as a cleared session."""
        runtime = task.runtime
        if runtime.agent_type is not None:  # an agent in a process of its own
            await begin_agent(task, runtime.agent_type)
            return
        if self._has_begun:
            source = "clear"
            await self.fire_cleared(runtime)
        elif runtime.services.model.info.notice:
            self._tree.bus.emit(Notice(level="info", text=runtime.services.model.info.notice))
        self._has_begun, self._is_cleared = True, False
        about = {"source": source, "model": runtime.options.model}
        if runtime.options.name is not None:
            about["session_title"] = runtime.options.name
        await fire_start(task, HookEvent.SESSION_START, source, **about)

    async def fire_cleared(self, runtime: "TaskRuntime") -> None:
        """Fire SessionEnd with the reason "clear", once per cleared conversation."""
        if self._has_begun and not self._is_cleared:
            self._is_cleared = True
            await runtime.fire(HookEvent.SESSION_END, "clear", reason="clear")

    async def _is_resumed(self, task: "Task", offer: ResumeAsk) -> bool:
        answer = await task.runtime.ask(offer)
        if ends_task(offer, answer):
            return False
        if answer.has_words:
            task.runtime.end_turn_rules()
            task.begin_turn(input_from(answer))
        else:
            task.add_input(UserInput(text=RESUMPTION, is_prompt=False))
        return True

    def _close_open_work(self) -> None:
        """After an interruption. Subtasks were stopped with the work of the task that started them."""
        if self.root is not None:
            self._tree.close_open_work(self.root)
