"""Creates the tasks of a session: new ones, subtasks, and tasks restored from the log."""

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from robota.config.settings.schema import Completion
from robota.contracts.tool import Delegate
from robota.engine.context.window import Gauge, overhead_of
from robota.engine.model.reply import CallFormat, NativeCallFormat
from robota.engine.model.system_prompt import template
from robota.engine.record.history import History, characters_of
from robota.engine.record.journal import EventBus, Journal, JournalElsewhere
from robota.engine.record.rows import Rows
from robota.engine.runtime.options import Options, ToolFormat, session_header
from robota.engine.runtime.services import SessionServices
from robota.engine.runtime.task_runtime import Meter, TaskRuntime
from robota.engine.runtime.user_input import AskedCauses, AskTable, MessageQueue
from robota.engine.task.subtasks import TaskTree
from robota.engine.task.task import Task
from robota.log.kinds.session import TaskRecord
from robota.protocol.events import BackgroundTasks, Notice, TaskCreated
from robota.providers.definition import ModelInfo

if TYPE_CHECKING:
    from robota.contracts.agent import AgentIdentity, AgentPlace, StartAgent
    from robota.contracts.budget import Limit
    from robota.engine.budgets.account import Account
    from robota.engine.budgets.session_budget import BudgetPlan, SessionBudget
    from robota.engine.budgets.task_budget import TaskBudget
    from robota.engine.runtime.agent_service import AgentAddress, AgentLog
    from robota.engine.session.background.watch import BackgroundWatch
    from robota.engine.task.agents.process_task import ProcessTask
    from robota.engine.task.resumption import PausedTask
    from robota.log.kinds.agents import AgentEntry
    from robota.log.replay.session import SessionFold
    from robota.log.replay.task import TaskFold
    from robota.policy.review import Review


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
        self._asked_causes = AskedCauses()
        self._reviews: list[Review] = []
        self._tree = tree
        self._budget: SessionBudget | None = None
        services.processes.on_background = tree.on_agents = self._background_changed
        asks.on_change = self._asks_changed

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
        runtime.parent_id = parent_id
        if parent_id is not None:
            runtime.agent, runtime.agent_type = None, options.mode
        if self.budget is not None:
            runtime.budget = self._task_budget(self.budget.root)
        root = self._tree.root_id() if parent_id is not None else None
        self._bus.emit(TaskCreated(task_id=identity, parent_task_id=parent_id, root_task_id=root))
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
        child.runtime.parent = parent.runtime
        child.runtime.queue_id = child.runtime.task_id if has_own_queue else parent.runtime.queue_id
        child.runtime.prompt_id = parent.runtime.prompt_id
        child.runtime.turn_denials = [*parent.runtime.turn_denials, *order.denied]
        child.runtime.meter.spent = parent.runtime.meter.spent
        if parent.runtime.budget is not None:
            child.runtime.budget = self._task_budget(parent.runtime.budget.account)
        return child

    def agent(
        self, options: Options, parent: Task, identity: "AgentIdentity", order: "StartAgent", log: "AgentLog"
    ) -> Task:
        """The task of an agent that `parent` starts, with a log of its own. It counts against the parent's limits."""
        own = _options_of_agent(options, parent, identity, order, log.session_id)
        journal = Journal(log.log, self._bus)
        agent_of, agent_type = parent.runtime.options.session_id, identity.definition.name
        journal.write(msgspec.structs.replace(session_header(own), agent_of=agent_of, agent_type=agent_type))
        task_id = f"task-{journal.next_ts()}"
        journal.write(TaskRecord(task_id=task_id, mode=own.mode))
        runtime = self._runtime_of_agent(own, parent, identity, order.budget, task_id, journal)
        return Task(runtime, _call_format(own), self._tree)

    def agent_in_process(
        self,
        options: Options,
        parent: Task,
        identity: "AgentIdentity",
        order: "StartAgent",
        address: "AgentAddress",
        earlier: "AgentEntry | None",
    ) -> "ProcessTask":
        """The same for an agent in a process of its own, which writes the log.

        `earlier` is what the log says of it if it has worked for an earlier process of the session.
        """
        from robota.contracts.agent import Isolation
        from robota.engine.task.agents.process_task import ProcessTask

        assert self._services.agents is not None
        own = _options_of_agent(options, parent, identity, order, address.session_id)
        journal = JournalElsewhere(self._services.log, self._bus, address.log_path)
        task_id = f"task-{journal.next_ts()}" if earlier is None else earlier.task_id
        return ProcessTask(
            self._runtime_of_agent(own, parent, identity, order.budget, task_id, journal),
            self._services.agents,
            address,
            wants_worktree=Isolation.WORKTREE in (order.isolation, identity.definition.isolation),
            is_resumed=earlier is not None,
            worktree=None if earlier is None else earlier.worktree,
        )

    def _runtime_of_agent(
        self,
        own: Options,
        parent: Task,
        identity: "AgentIdentity",
        budget: "Limit | None",
        task_id: str,
        journal: Journal,
    ) -> TaskRuntime:
        runtime = self._runtime(own, Rows(task_id, journal, self._bus), journal)
        runtime.parent_id, runtime.parent = parent.runtime.task_id, parent.runtime
        runtime.agent, runtime.agent_type = identity, identity.definition.name
        runtime.queue_id, runtime.prompt_id = task_id, parent.runtime.prompt_id
        runtime.permission_mode = parent.runtime.permission_mode
        runtime.meter.spent = parent.runtime.meter.spent
        runtime.budget = self._agent_budget(parent.runtime.budget, identity.id, budget)
        parent_id, root = parent.runtime.task_id, self._tree.root_id()
        self._bus.emit(TaskCreated(task_id=task_id, parent_task_id=parent_id, root_task_id=root))
        return runtime

    @property
    def budget(self) -> "SessionBudget | None":
        """The budget of the session; None as long as nothing limits it."""
        plan = self._services.budgets
        if self._budget is None and plan is not None and plan.is_needed:
            self._budget = self._session_budget(plan)
        return self._budget

    def _restore_budget(self, budget: "SessionBudget", replayed: "SessionFold") -> None:
        """Take over what earlier processes spent. Money that was spent stays spent, also after a rewind."""
        from robota.contracts.budget import Amount, micro_dollars
        from robota.log.kinds.session import BudgetRecord

        tasks = [task.totals for task in replayed.tasks.values()]
        counted = Amount(
            money=sum(micro_dollars(each.cost or 0.0) for each in tasks),
            tokens=sum(each.usage.context_tokens for each in tasks),
            requests=sum(each.requests for each in tasks),
        )
        budget.restore(replayed.newest.get(BudgetRecord), counted)

    def _session_budget(self, plan: "BudgetPlan") -> "SessionBudget":
        # Imported here because few sessions are limited.
        from robota.engine.budgets.session_budget import SessionBudget

        warn = lambda text: self._bus.emit(Notice(level="warning", text=text))  # noqa: E731
        return SessionBudget(plan, self._journal, self._services.model.price_of, warn)

    def _task_budget(self, account: "Account") -> "TaskBudget":
        from robota.engine.budgets.task_budget import TaskBudget

        assert self._budget is not None
        return TaskBudget(self._budget, account)

    def _agent_budget(self, above: "TaskBudget | None", name: str, limit: "Limit | None") -> "TaskBudget | None":
        """The budget of an agent, below that of whoever starts it. It can be limited where the session is not."""
        plan = self._services.budgets
        own = limit is not None or (plan is not None and not plan.agent.is_unlimited)
        if above is None and not own:
            return None
        from robota.contracts.budget import UNLIMITED
        from robota.engine.budgets.session_budget import BudgetPlan

        if self._budget is None:
            self._budget = self._session_budget(plan or BudgetPlan())
        account = self._budget.root if above is None else above.account
        return self._task_budget(self._budget.account_of_agent(name, account, limit or UNLIMITED))

    @cached_property
    def watch(self) -> "BackgroundWatch":
        """Knows what runs in the background; imported with the first of it."""
        from robota.engine.session.background.watch import BackgroundWatch

        agents = lambda: self._tree.agents or ()  # noqa: E731 - created with the first agent
        return BackgroundWatch(self._services.processes, agents, self._asks, self._journal.next_ts)

    def _asks_changed(self) -> None:
        """An agent that asks something is listed as waiting."""
        if self._tree.agents is not None and self.watch.asks_changed():
            self._background_changed()

    def _background_changed(self) -> None:
        self._bus.emit(BackgroundTasks(tasks=self.watch.tasks()))

    def runtime_of(self, options: Options, replayed: "TaskFold", session: "SessionFold") -> TaskRuntime:
        """The runtime of a task from an earlier process: its rows and usage, but no conversation yet."""
        if self.budget is not None:
            self._restore_budget(self.budget, session)
        runtime = self._runtime(options, Rows(replayed.task_id, self._journal, self._bus, replayed))
        if self.budget is not None:
            runtime.budget = self._task_budget(self.budget.root)
        totals, meter = replayed.totals, runtime.meter
        meter.usage, meter.cost, meter.requests = totals.usage, totals.cost, totals.requests
        meter.saved, meter.context_tokens = totals.saved, replayed.context_tokens
        meter.estimated_requests = totals.estimated
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

    def _runtime(self, options: Options, rows: Rows, journal: Journal | None = None) -> TaskRuntime:
        """With `journal` it has a log of its own."""
        place: AgentPlace | None = options.launch.place
        journal = journal or self._journal
        return TaskRuntime(
            options=options,
            services=self._services,
            bus=self._bus,
            journal=journal,
            asks=self._asks,
            queue=self._queue,
            rows=rows,
            history=History(rows.task_id, journal, _call_format(options)),
            mode=options.mode,
            permission_mode=options.permission_mode,
            grants=self._grants,
            asked_causes=self._asked_causes,
            reviews=self._reviews,
            meter=Meter(_condense_at(options, self._services.model.info)),
            ask_model=_answer_beside,
            agent=None if place is None else place.identity,
            agent_type=None if place is None else place.identity.definition.name,
        )


def _options_of_agent(
    options: Options, parent: Task, identity: "AgentIdentity", order: "StartAgent", session_id: str
) -> Options:
    definition = identity.definition
    return msgspec.structs.replace(
        options,
        session_id=session_id,
        name=order.description,
        mode=parent.runtime.mode,
        completion=Completion.IMPLICIT,
        model=order.model or options.model,
        own_requests=order.max_turns or definition.max_turns,
    )


async def _answer_beside(runtime: TaskRuntime, instructions: str, text: str, model: str | None) -> str:
    # Imported with the first hook that asks a model.
    from robota.engine.model.side_question import answer_beside

    return await answer_beside(runtime, instructions, text, model)


def _call_format(options: Options) -> CallFormat:
    if options.tool_format is not ToolFormat.XML:
        return NativeCallFormat()
    from robota.engine.model.xml_calls import XmlCallFormat

    return XmlCallFormat()


def _condense_at(options: Options, model: ModelInfo) -> int | None:
    """The number of tokens at which the conversation is condensed automatically."""
    return None if options.condense_at is None else round(options.condense_at * model.input_room)
