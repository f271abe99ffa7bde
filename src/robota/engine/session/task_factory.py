"""Creates the tasks of a session: new ones, subtasks, and tasks restored from the log."""

from typing import TYPE_CHECKING

import msgspec

from robota.config.settings.schema import Completion
from robota.contracts.tool import Delegate
from robota.engine.context.window import Gauge, overhead_of
from robota.engine.model.reply import CallFormat, NativeCallFormat
from robota.engine.model.system_prompt import template
from robota.engine.record.history import History, characters_of
from robota.engine.record.journal import EventBus, Journal
from robota.engine.record.rows import Rows
from robota.engine.runtime.options import Options, ToolFormat
from robota.engine.runtime.services import SessionServices
from robota.engine.runtime.task_runtime import Meter, TaskRuntime
from robota.engine.runtime.user_input import AskTable, MessageQueue
from robota.engine.task.subtasks import TaskTree
from robota.engine.task.task import Task
from robota.log.kinds.session import TaskRecord
from robota.protocol.events import TaskCreated
from robota.providers.definition import ModelInfo

if TYPE_CHECKING:
    from robota.engine.task.resumption import PausedTask
    from robota.log.replay.task import TaskFold


class TaskFactory:
    """Creates tasks with the services, log, asks and queue that all tasks of a session share."""

    def __init__(
        self,
        services: SessionServices,
        bus: EventBus,
        journal: Journal,
        asks: AskTable,
        queue: MessageQueue,
        grants: list[str],
        tree: TaskTree,
    ) -> None:
        """`grants` are the permission rules granted for the session."""
        self._services = services
        self._bus = bus
        self._journal = journal
        self._asks = asks
        self._queue = queue
        self._grants = grants
        self._tree = tree
        services.processes.on_background = self._background_changed

    def new(
        self,
        options: Options,
        task_id: str | None = None,
        parent_id: str | None = None,
        replayed: "TaskFold | None" = None,
    ) -> Task:
        """A new task, or with `replayed` one restored from the log."""
        identity = task_id or f"task-{self._journal.next_ts()}"
        self._journal.write(TaskRecord(task_id=identity, parent_task_id=parent_id, mode=options.mode))
        call_format = _call_format(options)
        runtime = self._runtime(options, Rows(identity, self._journal, self._bus, replayed))
        if replayed is not None:
            runtime.history = History(identity, self._journal, call_format, replayed.conversation())
            runtime.meter.context_tokens = replayed.context_tokens
        runtime.parent_id, runtime.agent_type = parent_id, None if parent_id is None else options.mode
        self._bus.emit(TaskCreated(task_id=identity, parent_task_id=parent_id))
        task = Task(runtime, call_format, self._tree)
        if replayed is not None:
            task.todos = replayed.todos
            task.context.recall(replayed.context_tokens)
        return task

    def subtask(self, options: Options, parent: Task, order: Delegate, has_own_queue: bool) -> Task:
        """A subtask of `parent`, which counts against the parent's limits.

        One that the parent waits for is part of the conversation with the user and shares the parent's message queue.
        """
        own = msgspec.structs.replace(
            options,
            mode=order.mode,
            completion=options.completion if order.may_answer_in_words else Completion.EXPLICIT,
            model=order.model or options.model,
            own_requests=order.own_requests,
        )
        child = self.new(own, parent_id=parent.runtime.task_id)
        child.runtime.queue_id = child.runtime.task_id if has_own_queue else parent.runtime.queue_id
        child.runtime.prompt_id = parent.runtime.prompt_id
        child.runtime.turn_denials = [*parent.runtime.turn_denials, *order.denied]
        child.runtime.meter.spent = parent.runtime.meter.spent
        return child

    def _background_changed(self) -> None:
        from robota.engine.session.background_watch import background_tasks

        self._bus.emit(background_tasks(self._services.processes))

    def runtime_of(self, options: Options, replayed: "TaskFold") -> TaskRuntime:
        """The runtime of a task from an earlier process: its rows and usage, but no conversation yet."""
        runtime = self._runtime(options, Rows(replayed.task_id, self._journal, self._bus, replayed))
        totals, meter = replayed.totals, runtime.meter
        meter.usage, meter.cost, meter.requests = totals.usage, totals.cost, totals.requests
        meter.saved, meter.context_tokens = totals.saved, replayed.context_tokens
        if not replayed.context_tokens and (turns := replayed.open_conversation().turns):
            # The provider counts nothing. Until the task is opened, its system prompt is not known exactly.
            gauge = Gauge(overhead_of(template(), self._services.tools.specs))
            meter.uncounted(gauge.tokens(sum(map(characters_of, turns))))
        return runtime

    def reopen(self, options: Options, paused: "PausedTask") -> Task:
        """Continue a paused task with the session's current modes."""
        task = self.opened(options, paused)
        task.runtime.mode, task.runtime.permission_mode = options.mode, options.permission_mode
        self._journal.write(TaskRecord(task_id=paused.task.task_id, mode=options.mode))
        return task

    def opened(self, options: Options, paused: "PausedTask") -> Task:
        """The paused task with its conversation, before the user has decided about it. Created once."""
        if paused.opened is not None:
            return paused.opened
        replayed, call_format = paused.task, _call_format(options)
        history = History(replayed.task_id, self._journal, call_format, replayed.open_conversation())
        runtime = msgspec.structs.replace(
            paused.runtime, history=history, mode=options.mode, permission_mode=options.permission_mode
        )
        task = Task(runtime, call_format, self._tree)
        task.todos = replayed.todos
        task.context.recall(replayed.context_tokens)
        paused.opened = task
        return task

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
    """The number of tokens at which the conversation is condensed automatically."""
    return None if options.condense_at is None else round(options.condense_at * model.input_room)
