"""What the user does with background work: start agents, talk to them, stop and dismiss them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from robota.contracts.agent import StartAgent
from robota.engine.runtime.services import SessionServices
from robota.engine.session.background.groups import Group, Groups
from robota.engine.session.background.watch import BackgroundWatch
from robota.engine.session.decision import Changes, Decision, SessionChange, ToolsNeeded
from robota.engine.task.agents.agent import Agent
from robota.engine.task.runner import TaskRunner
from robota.engine.task.subtasks import TaskTree
from robota.engine.task.task import Task
from robota.protocol.calls import BackgroundTask, WaitPolicy
from robota.protocol.commands import Refused
from robota.protocol.events import BackgroundGroups

PAUSED: Final = Refused(
    code="task_paused", message="The task is paused. No agent was started. Decide first whether to resume it."
)
NO_TOOLS: Final = Refused(code="cancelled", message="Stopped before the agent started. Nothing was sent to the model.")


class BackgroundWork:
    """The agents of a session, of every depth, for the user."""

    def __init__(
        self,
        runner: TaskRunner,
        tree: TaskTree,
        services: SessionServices,
        changes: Changes,
        watch: BackgroundWatch,
        begin: Callable[[str], Awaitable[Task]],
    ) -> None:
        """`begin` starts a task that only waits: agents work below one. Its first row is the line that it gets."""
        self._runner = runner
        self._tree = tree
        self._services = services
        self._changes = changes
        self._watch = watch
        self._begin = begin
        self.groups = Groups(self._groups_changed)

    def tasks(self) -> tuple[BackgroundTask, ...]:
        """All background processes and agents that were not dismissed, as clients list them."""
        return self._watch.tasks()

    @property
    def agents(self) -> Sequence[Agent]:
        """All agents of this process, in the order of their start."""
        return () if self._tree.agents is None else tuple(self._tree.agents)

    def find(self, id_or_name: str) -> Agent | None:
        """The agent of that id, number or name."""
        table = self._tree.agents
        return None if table is None else table.find(id_or_name) or table.find(f"agent_{id_or_name}")

    async def start(self, order: StartAgent, line: str) -> Agent | Refused:
        """Start one agent in the background; `line` is what the user typed."""
        started = await self._started((order,), line)
        return started if isinstance(started, Refused) else started[0]

    async def start_together(self, orders: Sequence[StartAgent], policy: WaitPolicy, line: str) -> Group | Refused:
        """Start several as a group. If one cannot be started, none is."""
        started = await self._started(orders, line)
        return started if isinstance(started, Refused) else self.groups.add(started, policy)

    def send(self, agent: Agent, text: str) -> str:
        """Give an agent another message; returns what becomes of it."""
        agent.was_stopped_by_user = False
        return agent.parent.agents.send(agent, text)

    async def stop(self, agent: Agent) -> None:
        """Stop an agent and those that it started. The model cannot let it go on by itself."""
        agent.was_stopped_by_user = True
        await agent.parent.agents.stop(agent)

    def dismiss(self, agent: Agent) -> None:
        """Remove an agent that has ended from lists."""
        assert self._tree.agents is not None
        self._tree.agents.dismiss(agent)

    def seen(self, agent: Agent) -> None:
        """The user has looked at how it ended."""
        if agent.is_over and not agent.is_seen:
            agent.is_seen = True
            self._tree.on_agents()

    async def until_over(self, agent: Agent, timeout_s: float) -> None:
        """Wait for the end of its turn, but not longer than this."""
        assert agent.subtask is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await agent.subtask.end()
        await asyncio.sleep(0)  # the table notes the end

    async def _started(self, orders: Sequence[StartAgent], line: str) -> Sequence[Agent] | Refused:
        return await self._changes.make(lambda: self._starting(orders, line))

    async def _starting(self, orders: Sequence[StartAgent], line: str) -> Decision[Sequence[Agent]]:
        if self._runner.paused is not None:
            return PAUSED
        if not self._services.tools.is_complete:
            return ToolsNeeded(NO_TOOLS)
        task = self._runner.root if not self._runner.is_over else None
        if task is not None and not task.subtasks.are_open:
            return PAUSED
        if (problem := self._problem(orders)) is not None:
            return Refused(code="no_agent", message=f"{problem} No agent was started.")

        async def make() -> Sequence[Agent]:
            agents = (await self._begin(line) if task is None else task).agents
            begun = [agents.begin(msgspec.structs.replace(order, in_background=True)) for order in orders]
            return [agent for agent in begun if isinstance(agent, Agent)]

        return SessionChange(make)

    def _problem(self, orders: Sequence[StartAgent]) -> str | None:
        """Why the agents cannot be started."""
        service = self._services.agents
        if service is None or service.max_depth == 0:
            return "Agents are switched off (agents.maxDepth)."
        for order in orders:
            if service.find(order.type) is None:
                return f"There is no agent {order.type!r}: {', '.join(each.name for each in service.definitions())}."
            if order.name and self._tree.agents is not None and self._tree.agents.is_taken(order.name):
                return f"An agent named {order.name!r} is running already."
        return None

    def _groups_changed(self) -> None:
        self._tree.bus.emit(BackgroundGroups(groups=tuple(group.shown for group in self.groups)))
