"""All agents of a session, at every depth: their names, their turns, and which task gets their reports."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from robota.contracts.agent import AgentDefinition, AgentIdentity, Isolation, StartAgent
from robota.contracts.rest_of_result import shortened
from robota.contracts.tool import SHOWN_CHARACTERS
from robota.engine.runtime.agent_service import AgentLog, AgentService
from robota.engine.runtime.rights import depth_of
from robota.engine.runtime.user_input import News
from robota.engine.task.agents.agent import IN_WORDS, STATE_AFTER, Agent, report
from robota.engine.task.agents.slots import Slots
from robota.engine.task.agents.watchdog import IN_WORDS as LIMITS_IN_WORDS
from robota.engine.task.agents.watchdog import AgentLimit, AgentWatchdog
from robota.engine.task.steps import Ended, Outcome
from robota.log.kinds.agents import AgentEntry, AgentsRecord
from robota.protocol.calls import ENDED, BackgroundStatus
from robota.protocol.events import Notice

if TYPE_CHECKING:
    from robota.engine.task.agents.process_task import ProcessTask
    from robota.engine.task.subtasks import TaskTree
    from robota.engine.task.task import Task

CUT_OFF: Final = "The session was closed before the agent had finished."


class AgentTable:
    """The agents of a session. Each is recorded in the log of the task that started it."""

    def __init__(self, tree: "TaskTree", service: AgentService) -> None:
        self._tree = tree
        self._service = service
        self._agents: dict[str, Agent] = {}
        self._logs: list[AgentLog] = []
        # Agents of earlier processes, by the task that started them.
        self._earlier: dict[str, dict[str, AgentEntry]] = {}
        self._count = 0
        self.slots = Slots(service.max_running)

    def __iter__(self) -> Iterator[Agent]:
        return iter(self._agents.values())

    def find(self, id_or_name: str) -> Agent | None:
        """The agent with this id or name. If the name was used more than once, it is the newest."""
        named = (agent for agent in reversed(self._agents.values()) if agent.identity.name == id_or_name)
        return self._agents.get(id_or_name) or next(named, None)

    def is_taken(self, name: str) -> bool:
        """Whether a running agent has this name."""
        return any(agent.identity.name == name and not agent.is_over for agent in self)

    def add(self, parent: "Task", order: StartAgent, definition: AgentDefinition, call_id: str | None = None) -> Agent:
        """Create an agent with its log. Raises `LogError`."""
        self._count += 1
        id = f"agent_{self._count}"
        depth = depth_of(parent.runtime) + 1
        identity = AgentIdentity(id=id, name=order.name, definition=definition, depth=depth)
        named = order.model or definition.model
        order = msgspec.structs.replace(order, model=None if named is None else self._service.model_named(named))
        wants_process = Isolation.WORKTREE in (order.isolation, definition.isolation) or self._service.own_processes
        task: Task | ProcessTask
        if wants_process:
            task = self._tree.new_agent_in_process(parent, identity, order, self._service.address(id))
            task.on_change = partial(self.changed, parent)
        else:
            log = self._service.open_log(id)
            self._logs.append(log)
            task = self._tree.new_agent(parent, identity, order, log)
        agent = self._agents[id] = Agent(identity, order, parent, task, call_id)
        return agent

    def revive(self, parent: "Task", id_or_name: str) -> Agent | None:
        """An agent of an earlier process, which goes on in a process of its own; None if there is none of that name.

        Raises `LogError` if its log cannot be found.
        """
        earlier = self._earlier.get(parent.runtime.task_id, {})
        entry = earlier.get(id_or_name) or next((e for e in earlier.values() if e.name == id_or_name), None)
        definition = None if entry is None else self._service.find(entry.type)
        if entry is None or definition is None:
            return None
        depth = depth_of(parent.runtime) + 1
        identity = AgentIdentity(id=entry.id, name=entry.name, definition=definition, depth=depth)
        order = StartAgent(description=entry.description, prompt="", type=entry.type, name=entry.name)
        address = self._service.known_address(entry.session_id)
        task = self._tree.new_agent_in_process(parent, identity, order, address, entry)
        task.on_change = partial(self.changed, parent)
        agent = self._agents[entry.id] = Agent(identity, order, parent, task)
        agent.is_background, agent.was_stopped_by_user = True, entry.was_stopped_by_user
        agent.restored(entry)
        return agent

    def start(self, agent: Agent, prompt: str) -> None:
        """Let an agent work on a prompt as soon as it gets a slot."""
        is_new = agent.subtask is None and not agent.is_over
        if agent.is_over:
            agent.becomes(BackgroundStatus.QUEUED)
        agent.ended, agent.is_delivered, agent.is_seen, agent.limit = None, False, False, None
        agent.subtask = agent.parent.subtasks.run_agent(agent.task, prompt, self._turn_of(agent), is_new=is_new)
        agent.subtask.ended.add_done_callback(partial(self._ended, agent))
        self.changed(agent.parent)

    def waiting_for_others(self, task: "Task") -> AbstractAsyncContextManager[None]:
        """The context in which a task waits for its agents. If it is an agent itself, it lends them its slot."""
        has_slot = task.runtime.agent is not None and not task.runtime.is_root
        return self.slots.lent() if has_slot else nullcontext()

    def delivered(self, agent: Agent) -> None:
        """Note that the task that started it has received its report."""
        agent.is_delivered = True
        agent.parent.forget_news(agent.id)
        self.changed(agent.parent)

    def dismiss(self, agent: Agent) -> None:
        """Remove an agent that has ended from lists."""
        agent.is_dismissed = True
        self._tree.on_agents()

    def changed(self, parent: "Task") -> None:
        """Record the agents of a task, and inform clients."""
        task_id = parent.runtime.task_id
        own = {agent.id: agent.entry() for agent in self if agent.parent is parent}
        entries = {**self._earlier.get(task_id, {}), **own}
        parent.runtime.journal.write(AgentsRecord(task_id=task_id, agents=tuple(entries.values())))
        self._tree.on_agents()

    def restore(self, parent: "Task", record: AgentsRecord) -> None:
        """Restore the agents of a task from its log, and report those that it has not heard of.

        Agents of this process that the task started since then were undone by a rewind.
        """
        task_id = parent.runtime.task_id
        self._agents = {agent.id: agent for agent in self if agent.parent.runtime.task_id != task_id}
        earlier = self._earlier[task_id] = {entry.id: entry for entry in record.agents}
        self._count = max(self._count, *map(_number_of, earlier), 0)
        for entry in record.agents:
            if entry.is_background and not entry.is_delivered:
                parent.notify(self._news_of_earlier(parent, entry))

    def _news_of_earlier(self, parent: "Task", entry: AgentEntry) -> News:
        is_cut_off = entry.status not in ENDED
        status = BackgroundStatus.CANCELLED if is_cut_off else BackgroundStatus(entry.status)
        text = CUT_OFF if is_cut_off else entry.result
        text = shortened(text, SHOWN_CHARACTERS, parent.runtime.journal.keep)

        def delivered() -> None:
            noted = msgspec.structs.replace(entry, is_delivered=True, result="", status=status)
            self._earlier[parent.runtime.task_id][entry.id] = noted
            self.changed(parent)

        return News(about=entry.id, text=report(entry.id, entry.type, IN_WORDS[status], text), delivered=delivered)

    def close(self) -> None:
        """Close the logs. No agent may be running any more."""
        for log in self._logs:
            log.close()
        self._logs.clear()

    @asynccontextmanager
    async def _turn_of(self, agent: Agent) -> AsyncIterator[None]:
        await self.slots.take()
        agent.has_slot = True  # until its end is recorded
        agent.becomes(BackgroundStatus.RUNNING)
        self.changed(agent.parent)
        watching = asyncio.create_task(AgentWatchdog(agent, self._service.idle_s).watch())
        try:
            yield
        finally:
            watching.cancel()

    def _ended(self, agent: Agent, ended: asyncio.Future[Ended]) -> None:
        agent.ended = ended.result()
        if agent.limit is not None:
            agent.ended = Ended(Outcome.FAILED, LIMITS_IN_WORDS[AgentLimit(agent.limit)])
        if agent.has_slot:
            agent.has_slot = False
            self.slots.give()
        if self._tree.is_leaving and agent.ended.outcome is Outcome.INTERRUPTED:
            return  # in the log it is still running, so the task is told when it is resumed
        agent.becomes(STATE_AFTER[agent.ended.outcome])
        self.changed(agent.parent)
        if agent.is_background:
            self._tell(agent)
        if agent.status is BackgroundStatus.COMPLETED and agent.parent.subtasks.are_open:
            self._go_on(agent)

    def _go_on(self, agent: Agent) -> None:
        """Start another turn of an agent with a message that came too late for its last request."""
        runtime = agent.task.runtime
        late = runtime.queue.take(runtime.queue_id, is_turn_over=True)
        if late is not None:
            agent.is_background = True
            self.start(agent, late.text)

    def _tell(self, agent: Agent) -> None:
        """Tell the task of its end. One that the user started is not what the model waits for, so it may rest."""
        order, note = agent.order, partial(self.delivered, agent)
        agent.parent.notify(News(about=agent.id, text=agent.report(), delivered=note, may_wait=order.is_of_user))
        if order.is_of_user:
            text = f"{agent.identity.shown_name} {IN_WORDS[agent.status]}. Its report: /agent read {agent.id}"
            self._tree.bus.emit(Notice(level="info", text=text))


def _number_of(id: str) -> int:
    number = id.rpartition("_")[2]
    return int(number) if number.isascii() and number.isdecimal() else 0
