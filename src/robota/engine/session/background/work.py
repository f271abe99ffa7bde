"""What the user does with background work: start agents, talk to them, stop and dismiss them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from robota.contracts.agent import StartAgent
from robota.contracts.tool import ToolCall
from robota.engine.calls.executor import Executed, ToolExecutor
from robota.engine.calls.single_call import refuse_control
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
WORKING: Final = Refused(
    code="task_busy", message="The task works. Nothing was changed. Do this once its turn has ended, or stop it."
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
        self._refused_line = ""

    def tasks(self) -> tuple[BackgroundTask, ...]:
        """All background processes and agents that were not dismissed, as clients list them."""
        return self._watch.tasks()

    @property
    def agents(self) -> Sequence[Agent]:
        """All agents of this process, in the order of their start."""
        return () if self._tree.agents is None else tuple(self._tree.agents)

    def find(self, id_or_name: str) -> Agent | None:
        """The agent of that id, number or name."""
        table, root = self._tree.agents, self._runner.root
        if table is None:
            return None
        found = table.find(id_or_name) or table.find(f"agent_{id_or_name}")
        if found is not None or root is None:
            return found
        return table.revive(root, id_or_name) or table.revive(root, f"agent_{id_or_name}")

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

    async def call(self, tool: str, arguments: dict[str, Any], line: str) -> Executed | Refused:
        """Make a call for the user, who has typed `line`. It passes all stages, and is asked about like any other."""
        task = await self._changes.make(lambda: self._resting(line))
        if isinstance(task, Refused):
            return task
        call = ToolCall(id=f"prompt_{task.runtime.journal.next_ts()}", name=tool, input=arguments)
        [executed] = await ToolExecutor(task.runtime, refuse_control).run([call])
        return executed

    def remind(self, text: str) -> None:
        """Tell the model something with its next request."""
        if self._runner.root is not None:
            self._runner.root.remind(text)

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
        if agent.subtask is None:
            return  # it has worked in an earlier process only
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
        if (over := self._over_budget(orders, task, line)) is not None:
            return over

        async def make() -> Sequence[Agent]:
            agents = (await self._begin(line) if task is None else task).agents
            begun = [agents.begin(msgspec.structs.replace(order, in_background=True)) for order in orders]
            return [agent for agent in begun if isinstance(agent, Agent)]

        return SessionChange(make)

    async def _resting(self, line: str) -> Decision[Task]:
        if self._runner.paused is not None:
            return PAUSED
        if not self._services.tools.is_complete:
            return ToolsNeeded(NO_TOOLS)
        root = None if self._runner.is_over else self._runner.root
        if root is not None and not root.is_complete:
            return WORKING

        async def make() -> Task:
            return await self._begin(line) if root is None else root

        return SessionChange(make)

    def _over_budget(self, orders: Sequence[StartAgent], task: Task | None, line: str) -> Refused | None:
        """A refusal if the agents will probably use more than is free, unless the user typed the same line again."""
        budget = None if task is None else task.runtime.budget
        if budget is None or self._tree.agents is None:
            return None
        from robota.engine.task.agents.forecast import too_expensive

        too_much = too_expensive(self._tree.agents, orders, budget.account.free)
        confirmed, self._refused_line = line == self._refused_line, line
        if not too_much or confirmed:
            return None
        again = "No agent was started. Repeat the line to start them all the same."
        return Refused(code="over_budget", message=f"{too_much} {again}")

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
