"""`Session`, the façade that clients use: commands go in, events come out."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec

from robota.contracts.hook import HookContext, HookEvent
from robota.contracts.tool import Delegate
from robota.engine.record.journal import EventBus, Journal
from robota.engine.record.rows import Rows
from robota.engine.runtime.options import Options, chosen_state, session_header
from robota.engine.runtime.services import SessionServices
from robota.engine.runtime.user_input import AskTable, MessageQueue, is_answered_by_queue
from robota.engine.task.runner import TaskRunner
from robota.log.kinds.session import NameRecord
from robota.protocol.asks.answer import Approve, Reject, Say
from robota.protocol.asks.ask import CompletionAsk, ResumeAsk
from robota.protocol.asks.kinds import IDLE_ASKS, INTERACTIVE_ASKS, RESUMABLE_ASKS, RESUME_ASKS
from robota.protocol.asks.seed import UnknownResponse, answer_in
from robota.protocol.calls import PastCall
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    CancelTask,
    ClearTask,
    Command,
    CondenseContext,
    ContextCommand,
    EditQueuedMessage,
    NewTask,
    OlderRowsRequest,
    QueueMessage,
    Receipt,
    Refused,
    RemoveQueuedMessage,
    RetryNow,
    RewindCommand,
    SetPermissionMode,
    SlashCommand,
    SwitchMode,
    TerminalOperation,
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
from robota.protocol.message import Message, QueuedMessage
from robota.protocol.permission_mode import PermissionMode

if TYPE_CHECKING:
    from robota.engine.runtime.task_runtime import TaskRuntime
    from robota.engine.session.context_commands import ContextCommands
    from robota.engine.session.rewinding import SessionRewind
    from robota.engine.session.task_factory import TaskFactory
    from robota.engine.session.titling import Titling
    from robota.engine.session.tool_gathering import ToolGathering
    from robota.engine.task.resumption import PausedTask
    from robota.engine.task.task import Task
    from robota.log.replay.session import ReplayedSession

# A hanging disk must not block the exit: everything written is already in the kernel's page cache.
LAST_SYNC_SECONDS: Final = 10.0
# While one of these is open the task does nothing, so a new task may replace it.
NOTHING_TO_DO_ASKS: Final = IDLE_ASKS | RESUMABLE_ASKS
# At these no turn is under way that could be stopped. One that failed or met a limit is.
AT_REST_ASKS: Final = RESUME_ASKS | {"completion_result"}
BYPASS_FORBIDDEN: Final = (
    "The settings disable the permission mode bypassPermissions (permissions.disableBypassPermissionsMode). The mode "
    "is unchanged."
)
# The permission mode only changes what is asked. Whether commands are sandboxed is decided when the session starts.
SANDBOX_STAYS: Final = {
    True: "Commands still run in the sandbox, as at the start of the session.",
    False: "Commands still run without a sandbox, as at the start of the session. Start a new session to use one.",
}
STOPPED: Final = Refused(code="cancelled", message="Stopped before the task started. Nothing was sent to the model.")
PAUSED: Final = Refused(code="task_paused", message="The task is paused. Decide first whether to resume it.")
NO_TASK: Final = Refused(code="no_active_task", message="There is no task.")


class Session:
    """Runs one task at a time (with its subtasks) and sends its events to every subscriber."""

    def __init__(self, options: Options, services: SessionServices) -> None:
        self._options = options
        self._services = services
        self._bus = EventBus(services.redactor)
        self._journal = Journal(services.log, self._bus)
        self._asks = AskTable()
        self._grants: list[str] = []
        self._gathering: ToolGathering | None = None
        self._sandbox: Sandbox | None = None
        self._queue = MessageQueue(self._journal, self._queue_changed)
        self._runner = TaskRunner(self._bus, self._journal, self._new_subtask, self._reopen, self._send_state)
        self._rewind: SessionRewind | None = None
        self._titling: Titling | None = None
        self._wants_title = options.title_by_model and options.name is None
        self._handlers: dict[type, Callable[[Any], Awaitable[Receipt]]] = {
            NewTask: self._new_task,
            ClearTask: self._clear_task,
            CancelTask: self._cancel_task,
            AskResponse: self._answer,
            QueueMessage: self._queue_message,
            EditQueuedMessage: self._edit_queued,
            RemoveQueuedMessage: self._remove_queued,
            TerminalOperation: self._terminal_operation,
            SwitchMode: self._switch_mode,
            SetPermissionMode: self._set_permission_mode,
            RetryNow: self._retry_now,
            OlderRowsRequest: self._send_older_rows,
            **dict.fromkeys(get_args(ContextCommand), self._handle_context_command),
            **dict.fromkeys(get_args(RewindCommand), self._handle_rewind_command),
            **dict.fromkeys(get_args(SlashCommand), self._refuse_slash_command),
        }
        self._journal.write(session_header(options))

    @cached_property
    def _tasks(self) -> "TaskFactory":
        """Imported with the first task, to keep start-up fast."""
        from robota.engine.session.task_factory import TaskFactory

        shared = (self._services, self._bus, self._journal, self._asks, self._queue, self._grants)
        return TaskFactory(*shared, self._runner.delegate)

    async def submit(self, command: Command) -> Receipt:
        return await self._handlers[type(command)](command)

    async def resume(self, replayed: "ReplayedSession", left_ms: int) -> None:
        """Restore a session from its log: show its task and ask whether to continue it.

        `left_ms` is the time of the last record. Approvals and grants are not restored. Returns once the person is
        asked, or at once if the log has no task.
        """
        # Imported here because most sessions are new.
        from robota.engine.task.resumption import PausedTask

        self._queue.restore(replayed.queue)
        self._wants_title = False
        task = replayed.root
        if task is not None:
            runtime = self._tasks.runtime_of(self._options, task)
            await self._runner.resume(PausedTask(runtime, task, left_ms, replayed.subtask_ask))

    def events(self) -> AsyncIterator[Event]:
        for task in self._runner.stack:
            task.runtime.rows.flush()
        runtime = self._visible_runtime
        usage = runtime.usage_events if runtime is not None and runtime.meter.requests else ()
        return self._bus.subscribe(State(state=self.state()), *usage, *self._journal.warning)

    def state(self) -> SessionState:
        """A snapshot of everything a client needs to start drawing."""
        runtime, options = self._visible_runtime, self._options
        shown = self._runner.current or self._runner.paused
        rows = runtime.rows.newest() if runtime else ()
        return msgspec.structs.replace(
            chosen_state(options),
            mode=runtime.mode if runtime else options.mode,
            cline_messages=rows,
            older_rows=runtime.rows.count - len(rows) if runtime else 0,
            calls=self._past_calls(runtime.rows, rows) if runtime and rows else (),
            current_task_id=runtime.task_id if runtime else None,
            message_queue=self._queue.entries,
            todos=shown.todos if shown else (),
            tools=tuple(self._services.tools.names),
            mcp_servers=tuple(self._services.tools.servers),
            log_path=str(self._journal.path),
            sandbox=self._sandbox.kind if self._sandbox else None,
            sees_images=self._services.model.info.sees_images,
        )

    def _past_calls(self, rows: Rows, shown: Sequence[Message]) -> tuple[PastCall, ...]:
        # Imported here because a new session has no past calls.
        from robota.engine.session.older_rows import calls_of

        return calls_of(rows, shown)

    def usage(self) -> TokenUsage:
        """The token usage of the task so far."""
        runtime = self._visible_runtime
        return runtime.meter.totals if runtime is not None else TokenUsage()

    @property
    def is_working(self) -> bool:
        """Whether a task is running and not just waiting for the next prompt."""
        pending = self._asks.newest
        return self._runner.is_running and (pending is None or pending.message.ask not in NOTHING_TO_DO_ASKS)

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
        if self._titling is not None:
            await self._titling.finish()
        await self._runner.stop(is_leaving=True)
        if self._services.hooks.lifecycle is not None:
            context = HookContext(permission_mode=self._options.permission_mode)
            await self._services.hooks.lifecycle.fire(HookEvent.SESSION_END, "other", context=context, reason="other")
            await self._services.hooks.lifecycle.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SYNC_SECONDS):
                await self._journal.sync()
        self._bus.close()

    @property
    def rewind(self) -> "SessionRewind":
        """Handles the rewind commands; created with the first of them."""
        if self._rewind is None:
            from robota.engine.session.rewinding import SessionRewind

            self._rewind = SessionRewind(self, self._services.rewind, self._bus.emit)
        return self._rewind

    async def is_idle(self) -> bool:
        """Whether nothing runs: there is no task, or it only waits for the next prompt."""
        pending = self._asks.newest
        if pending is None:
            return await self._runner.has_ended()
        return pending.message.ask in NOTHING_TO_DO_ASKS and not pending.is_settled

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
            await self._answer(AskResponse(answer=Approve()))  # "resume", which asks the open question again
            return
        options = msgspec.structs.replace(self._options, mode=logged.mode or self._options.mode)
        task = self._tasks.new(options, logged.task_id, replayed=logged)
        self._runner.offer_resumption(task, ResumeAsk(is_completed=logged.is_complete))

    async def _new_task(self, command: NewTask) -> Receipt:
        if not await self.gather_tools():
            return STOPPED
        if not await self._end_idle_task():
            return Refused(code="task_busy", message="A task is running. Cancel or clear it, or queue the message.")
        if not command.text.strip() and not command.images:
            return Refused(code="empty_task", message="A task needs text or an image.")
        if command.mode is not None and command.mode not in self._services.modes.roles:
            return self._no_such_mode(command.mode)
        options = msgspec.structs.replace(self._options, mode=command.mode or self._options.mode)
        task = self._tasks.new(options, command.task_id)
        self._runner.start(task, command.text, command.images, is_command=command.is_command)
        self._start_titling(task, command.text)
        return Accepted(id=task.runtime.task_id)

    def _start_titling(self, task: "Task", prompt: str) -> None:
        """Request a title from the model while the first task works, if the settings want one."""
        if self._wants_title:
            from robota.engine.session.titling import Titling

            self._titling, self._wants_title = Titling(task.runtime, prompt), False

    async def gather_tools(self) -> bool:
        """Start the MCP servers, once, so that their tools are known.

        False if the person cancelled the wait; it is tried again with the next task.
        """
        if self._services.tools.is_complete:
            return True
        if self._gathering is None:
            from robota.engine.session.tool_gathering import ToolGathering

            self._gathering = ToolGathering(self._services, self._bus.emit)
        return await self._gathering.finish()

    async def _end_idle_task(self) -> bool:
        """End a task that only waits for a prompt. Returns whether a new task may start now."""
        pending = self._asks.newest
        if pending is None:
            return await self._runner.has_ended()
        if pending.message.ask not in NOTHING_TO_DO_ASKS:
            return False
        if not pending.is_settled:
            await self._runner.stop()
        else:
            settled = pending.future.result()
            if isinstance(settled, CondenseContext) or settled.has_words:
                return False
        return await self._runner.has_ended(wait=True)

    async def _clear_task(self, command: ClearTask) -> Receipt:
        runtime = self._visible_runtime
        await self._runner.stop()
        self._runner.forget()
        if runtime is not None:
            await self._runner.fire_cleared(runtime)
            self._bus.emit(TaskAborted(task_id=runtime.task_id))
        self._send_state()
        return Accepted()

    async def _cancel_task(self, command: CancelTask) -> Receipt:
        if self._gathering is not None and self._gathering.stop():
            return Accepted()
        pending = self._asks.newest
        is_at_rest = pending is not None and pending.message.ask in AT_REST_ASKS and not pending.is_settled
        if not is_at_rest and self._runner.interrupt():
            return Accepted()
        return Refused(code="no_active_task", message="Nothing is running.")

    async def _answer(self, command: AskResponse) -> Receipt:
        if not self._asks.is_about_output(command.ts):
            return self._asks.answer(command)
        try:
            answer = answer_in(command)
        except UnknownResponse as unknown:
            return Refused(code="unknown_response", message=str(unknown))
        if isinstance(answer, Reject):
            return await self._terminal_operation(TerminalOperation(terminal_operation="abort"))
        return self._queue.add(QueueMessage(text=answer.text, images=answer.images)) if answer.has_words else Accepted()

    async def _queue_message(self, command: QueueMessage) -> Receipt:
        """Deliver the message at once if an open ask takes it as its answer; otherwise queue it."""
        pending = self._asks.newest
        asked = None if pending is None else pending.message.asked
        is_for_later = (command.after_turn or command.is_command) and not isinstance(asked, CompletionAsk)
        if is_answered_by_queue(asked) and not is_for_later:
            answer = Say(text=command.text, images=command.images, is_command=command.is_command)
            return self._asks.answer(AskResponse(answer=answer))
        is_starting = self._gathering is not None and self._gathering.is_under_way
        if not is_starting and await self._runner.has_ended():
            return NO_TASK
        return self._queue.add(command)

    async def _edit_queued(self, command: EditQueuedMessage) -> Receipt:
        return self._queue.edit(command)

    async def _remove_queued(self, command: RemoveQueuedMessage) -> Receipt:
        return self._queue.remove(command.id)

    async def _terminal_operation(self, command: TerminalOperation) -> Receipt:
        if command.terminal_operation == "continue":
            return Accepted()
        if command.terminal_operation != "abort":
            return Refused(code="unknown_operation", message="The operation must be continue or abort.")
        if self._services.processes.abort_running():
            return Accepted()
        return Refused(code="no_command", message="No command is running.")

    async def _switch_mode(self, command: SwitchMode) -> Receipt:
        """Switch the mode of the task, or of the next one if there is none."""
        if command.text not in self._services.modes.roles:
            return self._no_such_mode(command.text)
        task = self._runner.current
        if task is None:
            self._options = msgspec.structs.replace(self._options, mode=command.text)
            if self._runner.paused is not None:
                self._runner.paused.runtime.mode = command.text
            self._send_state()
        elif command.text != task.runtime.mode:
            task.runtime.switch_mode(command.text)
            task.remind(f"The user switched the task to {command.text} mode. Your role and tools changed with it.")
        return Accepted()

    def _no_such_mode(self, mode: str) -> Refused:
        modes = ", ".join(self._services.modes.roles)
        return Refused(code="unknown_mode", message=f"There is no mode {mode!r}. The modes are {modes}.")

    async def _open_task(self) -> "Task | Refused":
        """The task whose conversation commands act on: the running one, or the one that waits to be resumed."""
        paused = self._runner.paused
        if paused is not None and self._runner.current is None:
            return self._tasks.opened(self._options, paused) if await self.gather_tools() else PAUSED
        return self._runner.current or NO_TASK

    async def _set_permission_mode(self, command: SetPermissionMode) -> Receipt:
        mode = command.permission_mode
        if mode is PermissionMode.BYPASS and not self._options.may_bypass:
            return Refused(code="forbidden_mode", message=BYPASS_FORBIDDEN)
        before, self._options = self._options, msgspec.structs.replace(self._options, permission_mode=mode)
        for task in self._runner.stack:
            task.runtime.permission_mode = mode
        self._journal.write(session_header(self._options))
        self._send_state()
        if PermissionMode.BYPASS in (mode, before.permission_mode) and mode != before.permission_mode:
            self._bus.emit(Notice(level="info", text=SANDBOX_STAYS[self._services.processes.is_sandboxed]))
        return Accepted()

    async def older_rows(self, request: OlderRowsRequest) -> OlderRows | Refused:
        """A page of older rows of the task, from memory or from the log."""
        from robota.engine.session.older_rows import page_of

        return (
            await page_of(self._visible_runtime.rows, self._journal.path, request) if self._visible_runtime else NO_TASK
        )

    async def _send_older_rows(self, request: OlderRowsRequest) -> Receipt:
        found = await self.older_rows(request)
        if isinstance(found, Refused):
            return found
        self._bus.emit(found)
        return Accepted()

    @property
    def context(self) -> "ContextCommands":
        """Handles the commands about the model's context window."""
        # Imported here because most sessions never need it.
        from robota.engine.session.context_commands import ContextCommands

        return ContextCommands(self._runner, self._asks, self._journal, self._bus, self._open_task)

    async def _handle_context_command(self, command: ContextCommand) -> Receipt:
        return await self.context.handle(command)

    async def _handle_rewind_command(self, command: RewindCommand) -> Receipt:
        return await self.rewind.handle(command)

    async def _retry_now(self, command: RetryNow) -> Receipt:
        task = self._runner.current
        if task is None:
            return NO_TASK
        if not task.requester.retry_now():
            return Refused(code="nothing_to_retry", message="No request is waiting to be retried.")
        return Accepted()

    async def _refuse_slash_command(self, command: SlashCommand) -> Receipt:
        return Refused(code="no_commands", message="This session has no slash commands.")

    def _new_subtask(self, parent: "Task", order: Delegate) -> "Task":
        return self._tasks.subtask(self._options, parent, order)

    async def _reopen(self, paused: "PausedTask") -> "Task | None":
        """The paused task with its conversation; None if the person cancelled the wait for its tools."""
        return self._tasks.reopen(self._options, paused) if await self.gather_tools() else None

    @property
    def _visible_runtime(self) -> "TaskRuntime | None":
        """The runtime of the task that clients see: the running one, or the one that waits to be resumed."""
        shown = self._runner.current or self._runner.paused
        return None if shown is None else shown.runtime

    def _queue_changed(self, queue: tuple[QueuedMessage, ...]) -> None:
        task = self._runner.current
        self._bus.emit(QueuedMessagesUpdated(task_id=task.runtime.task_id if task else "", queue=queue))

    def _send_state(self) -> None:
        self._bus.emit(State(state=self.state()))
