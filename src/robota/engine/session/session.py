"""`Session`: the one façade clients use. Commands in, events out."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from robota.contracts.hook import HookContext, HookEvent
from robota.contracts.tool import Delegate
from robota.engine.record.journal import EventBus, Journal
from robota.engine.record.rows import Rows
from robota.engine.runtime.options import Options, chosen_state, session_header
from robota.engine.runtime.person_input import AskTable, MessageQueue, is_answered_by_queue
from robota.engine.runtime.services import SessionServices
from robota.engine.task.runner import TaskRunner
from robota.log.kinds.session import NameRecord
from robota.protocol.asks.answer import Approve, Reject, Say
from robota.protocol.asks.ask import CompletionAsk, ResumeAsk
from robota.protocol.asks.kinds import IDLE_ASKS, INTERACTIVE_ASKS, RESUMABLE_ASKS
from robota.protocol.asks.seed import UnknownResponse, answer_in
from robota.protocol.calls import PastCall
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    CancelTask,
    ClearTask,
    Command,
    CompletePrompt,
    CondenseContext,
    CondensePreviewRequest,
    ContextRequest,
    EditQueuedMessage,
    ListRewindPoints,
    ListSlashCommands,
    NewTask,
    OlderRowsRequest,
    PinTurn,
    QueueMessage,
    Receipt,
    RedoRewind,
    Refused,
    RemoveQueuedMessage,
    RestoreContext,
    RetryNow,
    RewindTo,
    RunSlashCommand,
    SetPermissionMode,
    ShowRewindDiff,
    SwitchMode,
    TerminalOperation,
    UndoRewind,
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
    from robota.engine.session.context_commands import ContextCommand, ContextCommands
    from robota.engine.session.rewinding import RewindCommand, SessionRewind
    from robota.engine.session.task_factory import TaskFactory
    from robota.engine.session.titling import Titling
    from robota.engine.session.tool_gathering import ToolGathering
    from robota.engine.task.resumption import PausedTask
    from robota.engine.task.task import Task
    from robota.log.replay.session import ReplayedSession

# A disk that does not answer must not keep anybody from leaving; the kernel has everything that was written.
LAST_SYNC_SECONDS: Final = 10.0
GIVES_WAY: Final = IDLE_ASKS | RESUMABLE_ASKS
BYPASS_FORBIDDEN: Final = (
    "The settings forbid the permission mode bypassPermissions (permissions.disableBypassPermissionsMode). "
    "The mode is as it was."
)
# A mode that is changed later changes what is asked, never what confines commands: that is settled at the start.
SANDBOX_STAYS: Final = {
    True: "Commands go on running in the sandbox, as when the session began.",
    False: "Commands go on running without a sandbox, as when the session began. Start a new session to have one.",
}
STOPPED: Final = Refused(code="cancelled", message="Stopped before the task began. Nothing was sent to the model.")
PAUSED: Final = Refused(code="task_paused", message="The task is paused. Say first whether it goes on.")
NO_TASK: Final = Refused(code="no_active_task", message="There is no task.")


class Session:
    """Runs one task at a time (and its subtasks) and tells every subscriber what happens."""

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
        self._runner = TaskRunner(self._bus, self._journal, self._new_subtask, self._reopened, self._send_state)
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
            CondenseContext: self._obey_about_context,
            ContextRequest: self._obey_about_context,
            CondensePreviewRequest: self._obey_about_context,
            RestoreContext: self._obey_about_context,
            PinTurn: self._obey_about_context,
            RetryNow: self._retry_now,
            RunSlashCommand: self._has_no_commands,
            ListSlashCommands: self._has_no_commands,
            CompletePrompt: self._has_no_commands,
            ListRewindPoints: self._obey_about_rewind,
            ShowRewindDiff: self._obey_about_rewind,
            RewindTo: self._obey_about_rewind,
            UndoRewind: self._obey_about_rewind,
            RedoRewind: self._obey_about_rewind,
            OlderRowsRequest: self._send_older_rows,
        }
        self._journal.write(session_header(options))

    @cached_property
    def _tasks(self) -> "TaskFactory":
        """Makes the tasks; loaded with the first of them."""
        from robota.engine.session.task_factory import TaskFactory

        shared = (self._services, self._bus, self._journal, self._asks, self._queue, self._grants)
        return TaskFactory(*shared, self._runner.delegate)

    async def submit(self, command: Command) -> Receipt:
        return await self._handlers[type(command)](command)

    async def take_up(self, found: "ReplayedSession", left_ms: int) -> None:
        """Go on with what the log tells: show its current task and ask whether it goes on. `left_ms` is when it ended.

        Approvals and grants are not restored. Returns when the person is being asked, or at once if there is no task.
        """
        # Most sessions are new; they need not wait for what takes up an old one.
        from robota.engine.task.resumption import PausedTask

        self._queue.restore(found.queue)
        self._wants_title = False
        task = found.root
        if task is not None:
            runtime = self._tasks.runtime_of(self._options, task)
            await self._runner.resume(PausedTask(runtime, task, left_ms, found.subtask_ask))

    def events(self) -> AsyncIterator[Event]:
        for task in self._runner.stack:
            task.runtime.rows.flush()
        runtime = self._shown
        usage = runtime.usage_events if runtime is not None and runtime.meter.requests else ()
        return self._bus.subscribe(State(state=self.state()), *usage, *self._journal.warning)

    def state(self) -> SessionState:
        """Everything a client needs to start drawing, as it is now."""
        runtime, options = self._shown, self._options
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
        # A new session has none.
        from robota.engine.session.older_rows import calls_of

        return calls_of(rows, shown)

    def usage(self) -> TokenUsage:
        """What the task has used so far."""
        runtime = self._shown
        return runtime.meter.totals if runtime is not None else TokenUsage()

    @property
    def is_working(self) -> bool:
        """Whether a task runs that does more than wait to be talked to."""
        pending = self._asks.newest
        return self._runner.is_running and (pending is None or pending.message.ask not in GIVES_WAY)

    @property
    def grants(self) -> tuple[str, ...]:
        """The rules that the person granted for this session."""
        return tuple(self._grants)

    def rename(self, name: str) -> None:
        """Give the session another name, which also holds when it is taken up again."""
        self._options = msgspec.structs.replace(self._options, name=name)
        self._journal.write(NameRecord(name=name))
        self._journal.write(session_header(self._options))
        self._send_state()

    def tell_sandbox(self, kind: str, reason: str, keeps_out: str = "") -> None:
        """What confines commands has been found out."""
        self._sandbox = Sandbox(kind=kind, reason=reason, keeps_out=keeps_out)
        self._bus.emit(self._sandbox)

    def warn(self, text: str) -> None:
        """Tell every client something a person should know."""
        self._bus.emit(Notice(level="warning", text=text))

    async def close(self) -> None:
        """Stop what runs and end every subscription. The log stays as it is: resumable."""
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
        """What goes back in this session."""
        if self._rewind is None:
            from robota.engine.session.rewinding import SessionRewind

            self._rewind = SessionRewind(self, self._services.rewind, self._bus.emit)
        return self._rewind

    async def is_at_rest(self) -> bool:
        """Whether nothing runs: no task, or one that has nothing more to do than to be talked to."""
        pending = self._asks.newest
        if pending is None:
            return await self._runner.has_ended()
        return pending.message.ask in GIVES_WAY and not pending.is_settled

    async def stop_task(self) -> None:
        """End the task here and now."""
        await self._runner.stop()

    async def take_up_task(self) -> None:
        """Offer to go on with the task as the log has it, or have none. Nothing may run."""
        await self._take_up_logged(asks_again=False)

    async def go_on_where_it_went_back(self) -> None:
        """The same after a rewind, but that a question which is open again is asked again."""
        await self._take_up_logged(asks_again=True)

    async def _take_up_logged(self, *, asks_again: bool) -> None:
        from robota.engine.session.rewinding import session_as_logged

        replayed, last_ts = await session_as_logged(self._journal)
        self._services.files.forget_reads()
        known = replayed.root
        if known is None:
            self._runner.forget()
            self._send_state()
            return
        self._services.files.recall(known.files)
        if asks_again and known.waiting_ask is not None and known.waiting_ask.ask in INTERACTIVE_ASKS:
            await self.take_up(replayed, last_ts)
            await self._answer(AskResponse(answer=Approve()))  # so that it is asked again
            return
        options = msgspec.structs.replace(self._options, mode=known.mode or self._options.mode)
        task = self._tasks.new(options, known.task_id, known=known)
        self._runner.take_up(task, ResumeAsk(is_completed=known.is_complete))

    async def _new_task(self, command: NewTask) -> Receipt:
        if not await self.gather_tools():
            return STOPPED
        if not await self._make_room():
            return Refused(code="task_busy", message="A task is running. Cancel or clear it, or queue the message.")
        if not command.text.strip() and not command.images:
            return Refused(code="empty_task", message="A task needs words or an image.")
        if command.mode is not None and command.mode not in self._services.modes.roles:
            return self._no_such_mode()
        options = msgspec.structs.replace(self._options, mode=command.mode or self._options.mode)
        task = self._tasks.new(options, command.task_id)
        self._runner.start(task, command.text, command.images, is_command=command.is_command)
        self._find_title(task, command.text)
        return Accepted(id=task.runtime.task_id)

    def _find_title(self, task: "Task", prompt: str) -> None:
        """Ask for a title while the first task of the session works, if that is wanted."""
        if self._wants_title:
            from robota.engine.session.titling import Titling

            self._titling, self._wants_title = Titling(task.runtime, prompt), False

    async def gather_tools(self) -> bool:
        """Start whoever brings more tools, once.

        False if a person did not want to wait for it any longer; it is tried again with the next task.
        """
        if self._services.tools.is_complete:
            return True
        if self._gathering is None:
            from robota.engine.session.tool_gathering import ToolGathering

            self._gathering = ToolGathering(self._services, self._bus.emit)
        return await self._gathering.finish()

    async def _make_room(self) -> bool:
        """Whether a new task may start: one that has nothing more to do than to be talked to gives way."""
        pending = self._asks.newest
        if pending is None:
            return await self._runner.has_ended()
        if pending.message.ask not in GIVES_WAY:
            return False
        if not pending.is_settled:
            await self._runner.stop()
        else:
            settled = pending.future.result()
            if isinstance(settled, CondenseContext) or settled.has_words:
                return False
        return await self._runner.has_ended(wait=True)

    async def _clear_task(self, command: ClearTask) -> Receipt:
        runtime = self._shown
        await self._runner.stop()
        self._runner.stack.clear()
        self._runner.paused = None
        if runtime is not None:
            await self._runner.tell_cleared(runtime)
            self._bus.emit(TaskAborted(task_id=runtime.task_id))
        self._send_state()
        return Accepted()

    async def _cancel_task(self, command: CancelTask) -> Receipt:
        if self._gathering is not None and self._gathering.stop():
            return Accepted()
        pending = self._asks.newest
        is_at_rest = pending is not None and pending.message.ask in GIVES_WAY and not pending.is_settled
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
        """A message that something waits for is delivered at once; any other waits its turn."""
        pending = self._asks.newest
        asked = None if pending is None else pending.message.asked
        is_for_later = (command.after_turn or command.is_command) and not isinstance(asked, CompletionAsk)
        if is_answered_by_queue(asked) and not is_for_later:
            said = Say(text=command.text, images=command.images, is_command=command.is_command)
            return self._asks.answer(AskResponse(answer=said))
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
        """Without a task it is the mode of the next one."""
        if command.text not in self._services.modes.roles:
            return self._no_such_mode()
        task = self._runner.current
        if task is None:
            self._options = msgspec.structs.replace(self._options, mode=command.text)
            if self._runner.paused is not None:
                self._runner.paused.runtime.mode = command.text
            self._send_state()
        elif command.text != task.runtime.mode:
            task.runtime.switch_mode(command.text)
            task.remind(f"The user switched the task to {command.text} mode. Your role and tools are now those of it.")
        return Accepted()

    def _no_such_mode(self) -> Refused:
        return Refused(code="unknown_mode", message=f"Modes: {', '.join(self._services.modes.roles)}.")

    async def _open_task(self) -> "Task | Refused":
        """The task whose conversation can be looked into: the one that runs, or the one that waits to be taken up."""
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
        """A page of the rows of the task."""
        from robota.engine.session.older_rows import page_of

        return await page_of(self._shown.rows, self._journal.path, request) if self._shown else NO_TASK

    async def _send_older_rows(self, request: OlderRowsRequest) -> Receipt:
        found = await self.older_rows(request)
        if isinstance(found, Refused):
            return found
        self._bus.emit(found)
        return Accepted()

    @property
    def context(self) -> "ContextCommands":
        """What clients can do about the context of the model."""
        # Most sessions end before anybody asks about it.
        from robota.engine.session.context_commands import ContextCommands

        return ContextCommands(self._runner, self._asks, self._journal, self._bus, self._open_task)

    async def _obey_about_context(self, command: "ContextCommand") -> Receipt:
        return await self.context.obey(command)

    async def _obey_about_rewind(self, command: "RewindCommand") -> Receipt:
        return await self.rewind.obey(command)

    async def _retry_now(self, command: RetryNow) -> Receipt:
        task = self._runner.current
        if task is None:
            return NO_TASK
        if not task.requester.retry_now():
            return Refused(code="nothing_to_retry", message="Nothing waits to be tried again.")
        return Accepted()

    async def _has_no_commands(self, command: RunSlashCommand | ListSlashCommands | CompletePrompt) -> Receipt:
        return Refused(code="no_commands", message="This session has no slash commands.")

    def _new_subtask(self, parent: "Task", order: Delegate) -> "Task":
        return self._tasks.subtask(self._options, parent, order)

    async def _reopened(self, paused: "PausedTask") -> "Task | None":
        """A paused task with its conversation; None if somebody did not want to wait for the tools."""
        return self._tasks.reopened(self._options, paused) if await self.gather_tools() else None

    @property
    def _shown(self) -> "TaskRuntime | None":
        """Of the task that clients see: the one that runs, or the one that waits to be taken up."""
        shown = self._runner.current or self._runner.paused
        return None if shown is None else shown.runtime

    def _queue_changed(self, queue: tuple[QueuedMessage, ...]) -> None:
        task = self._runner.current
        self._bus.emit(QueuedMessagesUpdated(task_id=task.runtime.task_id if task else "", queue=queue))

    def _send_state(self) -> None:
        self._bus.emit(State(state=self.state()))
