"""Makes the tasks of a session: new ones, those that somebody went back to, and those that another process left."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from robota.contracts.tool import Delegate
from robota.engine.model.reply import CallFormat, NativeCallFormat
from robota.engine.record.history import History
from robota.engine.record.journal import EventBus, Journal
from robota.engine.record.rows import Rows
from robota.engine.runtime.options import Completion, Options, ToolFormat
from robota.engine.runtime.person_input import AskTable, MessageQueue
from robota.engine.runtime.services import SessionServices
from robota.engine.runtime.task_runtime import Meter, TaskRuntime
from robota.engine.task.task import Task
from robota.log.kinds.session import TaskRecord
from robota.protocol.events import TaskCreated
from robota.providers.definition import ModelInfo

if TYPE_CHECKING:
    from robota.engine.task.resumption import PausedTask
    from robota.log.replay.task import ReplayedTask


class TaskFactory:
    """Gives every task of a session what they share."""

    def __init__(
        self,
        services: SessionServices,
        bus: EventBus,
        journal: Journal,
        asks: AskTable,
        queue: MessageQueue,
        grants: list[str],
        delegate: Callable[[Delegate], Awaitable[str]],
    ) -> None:
        """`grants` are the rules that the person granted for the session; `delegate` runs subtasks."""
        self._services = services
        self._bus = bus
        self._journal = journal
        self._asks = asks
        self._queue = queue
        self._grants = grants
        self._delegate = delegate
        services.processes.on_background = self._background_changed

    def new(
        self,
        options: Options,
        task_id: str | None = None,
        parent_id: str | None = None,
        known: "ReplayedTask | None" = None,
    ) -> Task:
        """A task that begins, or one that is as the log has it: `known`."""
        identity = task_id or f"task-{self._journal.next_ts()}"
        self._journal.write(TaskRecord(task_id=identity, parent_task_id=parent_id, mode=options.mode))
        call_format = _call_format(options)
        rows = Rows(identity, self._journal, self._bus) if known is None else self._rows_of(known)
        runtime = self._runtime(options, rows)
        if known is not None:
            runtime.history = History(identity, self._journal, call_format, known.conversation())
            runtime.meter.context_tokens = known.context_tokens
        runtime.agent_type = None if parent_id is None else options.mode
        self._bus.emit(TaskCreated(task_id=identity, parent_task_id=parent_id))
        task = Task(runtime, call_format, self._delegate, is_subtask=parent_id is not None)
        if known is not None:
            task.todos = known.todos
            task.context.recall(known.context_tokens)
        return task

    def subtask(self, options: Options, parent: Task, order: Delegate) -> Task:
        """A task that another one hands work to, with the limits that hold for that one."""
        own = msgspec.structs.replace(
            options,
            mode=order.mode,
            completion=Completion.EXPLICIT,
            model=order.model or options.model,
            max_requests=order.max_requests or options.max_requests,
        )
        child = self.new(own, parent_id=parent.runtime.task_id)
        child.runtime.prompt_id = parent.runtime.prompt_id
        child.runtime.turn_denials = [*parent.runtime.turn_denials, *order.denied]
        child.runtime.meter.spent = parent.runtime.meter.spent
        return child

    def _background_changed(self) -> None:
        from robota.engine.session.background_watch import background_tasks

        self._bus.emit(background_tasks(self._services.processes))

    def runtime_of(self, options: Options, left: "ReplayedTask") -> TaskRuntime:
        """Of a task that another process left: its rows, and what it used so far, but no conversation yet."""
        runtime = self._runtime(options, self._rows_of(left))
        totals, meter = left.totals, runtime.meter
        meter.usage, meter.cost, meter.requests = totals.usage, totals.cost, totals.requests
        meter.saved, meter.context_tokens = totals.saved, left.context_tokens
        return runtime

    def reopened(self, options: Options, paused: "PausedTask") -> Task:
        """A paused task that goes on."""
        task = self.opened(options, paused)
        task.runtime.mode, task.runtime.permission_mode = options.mode, options.permission_mode
        self._journal.write(TaskRecord(task_id=paused.task.task_id, mode=options.mode))
        return task

    def opened(self, options: Options, paused: "PausedTask") -> Task:
        """A paused task with its conversation, which nobody has decided about yet. It is made once."""
        if paused.opened is not None:
            return paused.opened
        left, call_format = paused.task, _call_format(options)
        history = History(left.task_id, self._journal, call_format, left.open_conversation(), left.results)
        runtime = msgspec.structs.replace(
            paused.runtime, history=history, mode=options.mode, permission_mode=options.permission_mode
        )
        task = Task(runtime, call_format, self._delegate)
        task.todos = left.todos
        task.context.recall(left.context_tokens)
        paused.opened = task
        return task

    def _rows_of(self, known: "ReplayedTask") -> Rows:
        return Rows(known.task_id, self._journal, self._bus, known.messages, known.older, known.calls)

    def _runtime(self, options: Options, rows: Rows) -> TaskRuntime:
        return TaskRuntime(
            options=options,
            services=self._services,
            bus=self._bus,
            journal=self._journal,
            asks=self._asks,
            queue=self._queue,
            rows=rows,
            history=History(rows.task_id, self._journal, _call_format(options)),
            mode=options.mode,
            permission_mode=options.permission_mode,
            grants=self._grants,
            meter=Meter(_condense_at(options, self._services.model.info)),
        )


def _call_format(options: Options) -> CallFormat:
    if options.tool_format is not ToolFormat.XML:
        return NativeCallFormat()
    from robota.engine.model.xml_calls import XmlCallFormat

    return XmlCallFormat()


def _condense_at(options: Options, model: ModelInfo) -> int | None:
    """How many tokens a conversation may have before it is condensed by itself."""
    threshold = options.auto_compact_threshold
    return None if threshold is None else round(threshold * model.input_room)
