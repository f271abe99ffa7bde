"""`Session`, the façade that clients use: commands go in, events come out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final, assert_never

import msgspec

from robota.contracts.hook import HookContext, HookEvent
from robota.engine.record.journal import EventBus, Journal
from robota.engine.runtime.options import Options, session_header
from robota.engine.runtime.services import SessionServices
from robota.engine.runtime.user_input import AskTable, MessageQueue, PendingAsk, UserInput, first_input
from robota.engine.session.decision import (
    NO_TASK,
    Changes,
    Decision,
    SessionChange,
    ToolsNeeded,
    accepting,
    answered,
    no_such_task,
)
from robota.engine.session.snapshot import snapshot, visible_runtime
from robota.engine.task.runner import TaskRunner
from robota.engine.task.subtasks import TaskTree
from robota.log.kinds.session import NameRecord
from robota.protocol.asks.answer import Approve
from robota.protocol.asks.ask import ResumeAsk
from robota.protocol.asks.kinds import INTERACTIVE_ASKS, NOTHING_TO_DO_ASKS, RESUME_ASKS
from robota.protocol.commands import (
    Accepted,
    CancelTask,
    ClearTask,
    Command,
    ContextCommand,
    EngineCommand,
    InputCommand,
    NewTask,
    OlderRowsRequest,
    Receipt,
    Refused,
    RetryNow,
    RewindCommand,
    SetPermissionMode,
    SlashCommand,
    SwitchMode,
    UnknownCommand,
)
from robota.protocol.events import (
    Event,
    Notice,
    OlderRows,
    QueuedMessagesUpdated,
    Sandbox,
    SessionState,
    State,
    TaskAborted,
    TokenUsage,
)
from robota.protocol.permission_mode import PermissionMode

if TYPE_CHECKING:
    from robota.engine.runtime.task_runtime import TaskRuntime
    from robota.engine.session.background.work import BackgroundWork
    from robota.engine.session.context_commands import ContextCommands
    from robota.engine.session.input_commands import InputCommands
    from robota.engine.session.rewinding import SessionRewind
    from robota.engine.session.task_factory import TaskFactory
    from robota.engine.session.titling import Titling
    from robota.engine.session.tool_gathering import ToolGathering
    from robota.engine.task.resumption import PausedTask
    from robota.engine.task.task import Task
    from robota.log.kinds.calls import AnsweredBy
    from robota.log.replay.session import SessionFold

# A hanging disk must not block the exit: everything written is already in the kernel's page cache.
LAST_SYNC_SECONDS: Final = 10.0
# At these no turn is under way that could be stopped. One that failed or met a limit is.
AT_REST_ASKS: Final = RESUME_ASKS | {"completion_result"}
STOPPED: Final = Refused(code="cancelled", message="Stopped before the task started. Nothing was sent to the model.")
BUSY: Final = Refused(code="task_busy", message="A task is running. Cancel or clear it, or queue the message.")
PAUSED: Final = Refused(code="task_paused", message="The task is paused. Decide first whether to resume it.")


class Session:
    """Runs one task at a time (with its subtasks) and sends its events to every subscriber."""

    def __init__(self, options: Options, services: SessionServices) -> None:
        self._options = options
        self._services = services
        self._bus = EventBus(services.redactor)
        self._journal = Journal(services.log, self._bus)
        self._asks = AskTable()
        self._grants: list[str] = []
        self._task_ids: set[str] = set()
        self._gathering: ToolGathering | None = None
        self._sandbox: Sandbox | None = None
        self._queue = MessageQueue(self._journal, self._queue_changed)
        made = (lambda: self._tasks), (lambda: self._options)
        self._tree = TaskTree(self._bus, self._journal, *made, self._send_state, self.submit)
        self._runner = TaskRunner(self._tree, self._reopen)
        self.pause = self._runner.pause
        self._rewind: SessionRewind | None = None
        self._titling: Titling | None = None
        self._wants_title = options.settings.title_by_model and options.name is None
        self._changes = Changes(self.gather_tools)
        self.ends_because = "other"  # the reason that hooks of SessionEnd are told
        self._journal.write(session_header(options))

    @cached_property
    def _input(self) -> "InputCommands":
        """Imported with the first input: a prompt alone needs none."""
        from robota.engine.session.input_commands import InputCommands

        return InputCommands(self._runner, self._asks, self._queue, self._services.processes)

    @cached_property
    def _tasks(self) -> "TaskFactory":
        """Imported with the first task, to keep start-up fast."""
        from robota.engine.session.task_factory import TaskFactory

        return TaskFactory(self._services, self._bus, self._journal, self._asks, self._queue, self._grants, self._tree)

    async def submit(self, command: Command, by: "AnsweredBy | None" = None) -> Receipt:
        """Decide, and only then change something; there always is a receipt. `by` is recorded with an answer."""
        return await answered(command, self._receipt(command, by))

    async def _receipt(self, command: Command, by: "AnsweredBy | None") -> Receipt:
        if isinstance(command, OlderRowsRequest):
            return await self._send_older_rows(command)
        if isinstance(command, RewindCommand):
            return await self.rewind.handle(command)
        if isinstance(command, SlashCommand):
            return Refused(code="no_commands", message="This session has no slash commands.")
        if isinstance(command, UnknownCommand):
            return Refused(code="unknown_command", message=f"Nothing was changed: {command.problem}.")
        return await self._changes.make(lambda: self._decide(command, by))

    async def _decide(self, command: EngineCommand, by: "AnsweredBy | None") -> Decision[Accepted]:
        """What a command does. Nothing is changed before that is decided."""
        if isinstance(command, InputCommand):
            return self._input.decide(command, by, is_starting=self.is_gathering)
        if isinstance(command, ContextCommand):
            return await self.context.decide(command)
        match command:
            case NewTask():
                return self._starting(command)
            case ClearTask():
                return SessionChange(self._clear_task)
            case CancelTask():
                return self._cancelling(command)
            case SwitchMode():
                return self._switching_mode(command.text)
            case SetPermissionMode():
                return await self._setting_permission_mode(command.permission_mode)
            case RetryNow():
                return self._retrying()
            case _:
                assert_never(command)

    async def resume(self, replayed: "SessionFold", left_ms: int) -> None:
        """Restore a session from its log: show its task and ask whether to continue it.

        `left_ms` is the time of the last record. Approvals and grants are not restored. Returns once the user is
        asked, or at once if the log has no task.
        """
        from robota.engine.task.resumption import PausedTask

        self._queue.restore(replayed.queue)
        self._task_ids.update(replayed.tasks)
        self._wants_title = False
        task = replayed.root
        if task is not None:
            runtime = self._tasks.runtime_of(self._options, task, replayed)
            await self._runner.resume(PausedTask(runtime, task, left_ms, replayed.open_subtasks, replayed.subtask_ask))

    def events(self) -> AsyncIterator[Event]:
        for task in self._runner.open_tasks:
            task.runtime.rows.flush()
        runtime = self._visible_runtime
        usage = runtime.usage_events if runtime is not None and runtime.meter.requests else ()
        return self._bus.subscribe(State(state=self.state()), *usage, *self._journal.warning)

    def state(self) -> SessionState:
        """A snapshot of everything a client needs to start drawing."""
        return msgspec.structs.replace(
            snapshot(self._options, self._services, self._runner, self._asks),
            message_queue=self._queue.entries(),
            log_path=str(self._journal.path),
            sandbox=self._sandbox.kind if self._sandbox else None,
            can_confine=self._services.confinement is not None and self._services.confinement.may_work(),
        )

    def usage(self) -> TokenUsage:
        """The token usage of the task so far."""
        runtime = self._visible_runtime
        return runtime.token_usage if runtime is not None else TokenUsage()

    @property
    def is_working(self) -> bool:
        """Whether a task is running and not just waiting for the next prompt."""
        return not self.is_idle

    @property
    def grants(self) -> tuple[str, ...]:
        """The permission rules granted for this session."""
        return tuple(self._grants)

    def rename(self, name: str) -> None:
        """Rename the session. The name is logged, so it survives a resume."""
        self._options = msgspec.structs.replace(self._options, name=name)
        self._journal.write(NameRecord(name=name))
        self._journal.write(session_header(self._options))
        self._send_state()

    def report_sandbox(self, kind: str, reason: str, keeps_out: str = "") -> None:
        """Publish which sandbox confines commands, once it has been detected."""
        self._sandbox = Sandbox(kind=kind, reason=reason, keeps_out=keeps_out)
        self._bus.emit(self._sandbox)

    def warn(self, text: str) -> None:
        """Show a warning in every client."""
        self._bus.emit(Notice(level="warning", text=text))

    async def close(self) -> None:
        """Stop the task and end every subscription. The session can be resumed from its log."""
        if self._gathering is not None:
            self._gathering.stop()
        await self._changes.close()
        if self._titling is not None:
            await self._titling.finish()
        await self._runner.stop(is_leaving=True)
        if self._tree.agents is not None:
            self._tree.agents.close()
        if self._services.hooks.lifecycle is not None:
            context, reason = HookContext(permission_mode=self._options.permission_mode), self.ends_because
            if self._options.launch.place is None:  # else an agent, which has ended as one
                await self._services.hooks.lifecycle.fire(HookEvent.SESSION_END, reason, context=context, reason=reason)
            await self._services.hooks.lifecycle.close()
        if self._services.processes.background and (runtime := self._visible_runtime) is not None:
            from robota.engine.session.unread_output import keep_unread_output

            await keep_unread_output(self._services.processes, runtime.rows)
        await self.until_saved()
        self._bus.close()

    async def until_saved(self) -> str | None:
        """Wait until the log is on disk, and return `unsaved`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SYNC_SECONDS):
                await self._journal.sync()
        return self.unsaved

    @property
    def unsaved(self) -> str | None:
        """Why something of the session is missing from its log; None if nothing is."""
        return self._journal.trouble

    @property
    def rewind(self) -> "SessionRewind":
        """Handles the rewind commands; created with the first of them."""
        if self._rewind is None:
            from robota.engine.session.rewinding import SessionRewind

            self._rewind = SessionRewind(self, self._services.rewind, self._changes, self._bus.emit)
        return self._rewind

    @cached_property
    def background(self) -> "BackgroundWork":
        """What runs beside the conversation, for the user; imported with the first use of it."""
        from robota.engine.session.background.work import BackgroundWork

        parts = (self._runner, self._tree, self._services, self._changes, self._tasks.watch)
        return BackgroundWork(*parts, self._start_waiting)

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs: there is no task, or it only waits for the next prompt."""
        pending = self._shown_ask
        waits_for_prompt = pending is not None and pending.message.ask in NOTHING_TO_DO_ASKS
        return self._runner.is_over or (waits_for_prompt and not self._runner.runs_beside)

    @property
    def takes_prompt(self) -> bool:
        """Whether a task waits for the next prompt; otherwise a prompt starts a new one."""
        return self.is_idle and not self._runner.is_over

    async def stop_task(self) -> None:
        """Stop the task immediately."""
        await self._runner.stop()

    async def offer_resumption(self) -> None:
        """Reload the task from the log and offer to resume it. The session must be idle."""
        await self._reload_task(asks_again=False)

    async def resume_after_rewind(self) -> None:
        """Reload the task after a rewind. A question that is open again at this point is asked again."""
        await self._reload_task(asks_again=True)

    async def _reload_task(self, *, asks_again: bool) -> None:
        from robota.engine.session.rewinding import session_as_logged

        replayed, last_ts = await session_as_logged(self._journal)
        self._services.files.forget_reads()
        logged = replayed.root
        if logged is None:
            self._runner.forget()
            self._send_state()
            return
        self._services.files.recall(logged.files)
        if asks_again and logged.waiting_ask is not None and logged.waiting_ask.ask in INTERACTIVE_ASKS:
            await self.resume(replayed, last_ts)
            if (offer := self._shown_ask) is not None:
                self._asks.settle(offer, Approve())  # "resume", which asks the open question again
            return
        options = msgspec.structs.replace(self._options, mode=logged.mode or self._options.mode)
        task = self._tasks.new(options, logged.task_id, replayed=logged)
        task.restore_agents(logged)
        self._runner.offer_resumption(task, ResumeAsk(is_completed=logged.is_complete), replayed.open_subtasks)

    def _starting(self, command: NewTask) -> Decision[Accepted]:
        if not command.text.strip() and not command.images:
            return Refused(code="empty_task", message="A task needs text or an image.")
        if command.mode is not None and command.mode not in self._services.modes.roles:
            return self._no_such_mode(command.mode)
        if command.task_id in self._task_ids:
            return Refused(code="task_exists", message=f"This session has a task {command.task_id} already.")
        if not self.is_idle:
            return BUSY
        return SessionChange(lambda: self._start(command)) if self._services.tools.is_complete else ToolsNeeded(STOPPED)

    async def _start(self, command: NewTask) -> Accepted:
        """Start a task, after the end of one that only waits for the next prompt."""
        await self._runner.stop()
        options = msgspec.structs.replace(self._options, mode=command.mode or self._options.mode)
        task = self._tasks.new(options, command.task_id)
        self._task_ids.add(task.runtime.task_id)
        self._start_titling(task, command.text)
        await self._runner.start(task, first_input(command, is_of_user=self._options.launch.place is None))
        return Accepted(id=task.runtime.task_id)

    async def _start_waiting(self, line: str) -> "Task":
        """Start a task without a request to the model, below which agents can work."""
        await self._runner.stop()
        task = self._tasks.new(self._options)
        self._task_ids.add(task.runtime.task_id)
        await self._runner.start(task, UserInput(text=line, is_prompt=False, is_carried_out=True))
        await task.subtasks.opened.wait()
        return task

    def _start_titling(self, task: "Task", prompt: str) -> None:
        """Request a title from the model while the first task works, if the settings want one."""
        if self._wants_title:
            from robota.engine.session.titling import Titling

            self._titling, self._wants_title = Titling(task.runtime, prompt), False

    @property
    def is_gathering(self) -> bool:
        """Whether a task waits for the tools of MCP servers."""
        return self._gathering is not None and self._gathering.is_under_way

    async def gather_tools(self) -> bool:
        """Start the MCP servers, once, so that their tools are known.

        False if the user cancelled the wait; it is tried again with the next task.
        """
        if self._services.tools.is_complete:
            return True
        if self._gathering is None:
            from robota.engine.session.tool_gathering import ToolGathering

            self._gathering = ToolGathering(self._services, self._bus.emit)
        return await self._gathering.finish()

    async def _clear_task(self) -> Accepted:
        if self._gathering is not None:
            self._gathering.stop()  # the task that waits for tools is not started
        runtime = self._visible_runtime
        await self._runner.stop()
        self._runner.forget()
        if runtime is not None:
            await self._runner.fire_cleared(runtime)
            self._bus.emit(TaskAborted(task_id=runtime.task_id))
        self._send_state()
        return Accepted()

    def _cancelling(self, command: CancelTask) -> Decision[Accepted]:
        root = self._runner.root
        if command.task_id is not None and (root is None or command.task_id != root.runtime.task_id):
            subtask = self._runner.find_subtask(command.task_id)
            return no_such_task(command.task_id) if subtask is None else accepting(subtask.stop)
        if self._gathering is not None and self.is_gathering:
            return accepting(self._gathering.stop)
        pending = self._shown_ask
        is_at_rest = pending is not None and pending.message.ask in AT_REST_ASKS
        if self._runner.is_over or (is_at_rest and not self._runner.runs_beside):
            return Refused(code="no_active_task", message="Nothing is running.")
        return accepting(self._runner.interrupt)

    def _switching_mode(self, mode: str) -> Decision[Accepted]:
        """Switch the mode of the task, or of the next one if there is none."""
        if mode not in self._services.modes.roles:
            return self._no_such_mode(mode)
        return accepting(lambda: self._switch_mode(mode))

    def _switch_mode(self, mode: str) -> None:
        task = self._runner.current
        if task is None or self._runner.is_over:
            self._options = msgspec.structs.replace(self._options, mode=mode)
            if (runtime := self._visible_runtime) is not None:
                runtime.mode = mode
            self._send_state()
        elif mode != task.runtime.mode:
            task.runtime.switch_mode(mode)

    def _no_such_mode(self, mode: str) -> Refused:
        modes = ", ".join(self._services.modes.roles)
        return Refused(code="unknown_mode", message=f"There is no mode {mode!r}. The modes are {modes}.")

    def _open_task(self) -> "Task | Refused | ToolsNeeded":
        """The task whose conversation commands act on: the running one, or the one that waits to be resumed."""
        paused = self._runner.paused
        if paused is None or self._runner.current is not None:
            return self._runner.current or NO_TASK
        return self._tasks.opened(self._options, paused) if self._services.tools.is_complete else ToolsNeeded(PAUSED)

    async def _setting_permission_mode(self, mode: PermissionMode) -> Decision[Accepted]:
        from robota.engine.session.choosing_permissions import refusal_of

        if (refusal := await refusal_of(mode, self._options, self._services)) is not None:
            self._send_state()
            return refusal
        return accepting(lambda: self._set_permission_mode(mode))

    def _set_permission_mode(self, mode: PermissionMode) -> None:
        before, self._options = self._options, msgspec.structs.replace(self._options, permission_mode=mode)
        for task in self._runner.open_tasks:
            task.set_permission_mode(mode)
        self._journal.write(session_header(self._options))
        self._send_state()
        if PermissionMode.BYPASS in (mode, before.permission_mode) and mode != before.permission_mode:
            from robota.engine.session.choosing_permissions import SANDBOX_STAYS

            self._bus.emit(Notice(level="info", text=SANDBOX_STAYS[self._services.processes.is_sandboxed]))

    async def older_rows(self, request: OlderRowsRequest) -> OlderRows | Refused:
        """A page of older rows of the task, from memory or from the log."""
        from robota.engine.session.older_rows import page_for

        agents = self._tree.agents or ()
        tasks = (*self._runner.open_tasks, *(agent.task for agent in agents))
        return await page_for(request, self._visible_runtime, (task.runtime for task in tasks))

    async def _send_older_rows(self, request: OlderRowsRequest) -> Receipt:
        older = await self.older_rows(request)
        if isinstance(older, Refused):
            return older
        self._bus.emit(older)
        return Accepted()

    @property
    def context(self) -> "ContextCommands":
        """Decides on the commands about the model's context window."""
        from robota.engine.session.context_commands import ContextCommands

        return ContextCommands(self._runner, self._asks, self._journal, self._bus, self._changes, self._open_task)

    def _retrying(self) -> Decision[Accepted]:
        task = self._runner.current
        if task is None:
            return NO_TASK
        if not task.requester.is_pausing:
            return Refused(code="nothing_to_retry", message="No request is waiting to be retried.")
        return accepting(task.requester.retry_now)

    async def _reopen(self, paused: "PausedTask") -> "Task | None":
        """The paused task with its conversation; None if the user cancelled the wait for its tools."""
        return self._tasks.reopen(self._options, paused) if await self.gather_tools() else None

    @property
    def _visible_runtime(self) -> "TaskRuntime | None":
        return visible_runtime(self._runner)

    @property
    def _shown_ask(self) -> PendingAsk | None:
        """The newest open ask of the task that clients are shown."""
        runtime = self._visible_runtime
        return None if runtime is None else self._asks.newest_of(runtime.task_id)

    def _queue_changed(self, queue_id: str | None) -> None:
        task = self._runner.current
        shown = task.runtime.task_id if task else ""
        self._bus.emit(QueuedMessagesUpdated(task_id=queue_id or shown, queue=self._queue.entries(queue_id)))

    def _send_state(self) -> None:
        self._bus.emit(State(state=self.state()))
